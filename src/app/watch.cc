#include "app/watch.h"

#include <algorithm>

#include "admin/endpoints.h"
#include "app/relay_service.h"
#include "base/log.h"

namespace outbox::app {

namespace {

std::vector<std::string> sink_names(const config::Settings& settings) {
  std::vector<std::string> names;
  for (const config::SinkSettings& sink : settings.sinks) names.push_back(sink.name);
  return names;
}

}  // namespace

Watch::Watch(const config::Settings& settings)
    : address_(settings.admin.listen),
      sinks_(sink_names(settings)),
      metrics_(metric::kAll),
      relay_metrics_(metrics_, sinks_) {}

std::chrono::steady_clock::time_point Watch::last_failure(const std::string& sink) const {
  return relay_metrics_.last_failure(sink);
}

std::chrono::steady_clock::time_point Watch::last_failure() const {
  std::chrono::steady_clock::time_point last{};
  for (const std::string& sink : sinks_) last = std::max(last, last_failure(sink));
  return last;
}

Result<void> Watch::listen() {
  if (address_.empty()) return {};
  const auto address = parse_listen_address(address_);
  if (!address) return address.failure();
  AdminHandlers handlers = admin_endpoints(metrics_, [this] { return views(); });
  handlers["/metrics"] = [this, page = handlers["/metrics"]](const AdminRequest& request) {
    relay_metrics_.refresh(views());
    refresh_leases();
    return page(request);
  };
  auto server = AdminServer::start(*address, std::move(handlers));
  if (!server) return server.failure();
  server_ = *std::move(server);
  log::info("admin address open", {{"listen", address->host + ":" + std::to_string(server_->port())}});
  return {};
}

void Watch::attach(RelayService& service) {
  const std::lock_guard lock(mutex_);
  service_ = &service;
}

void Watch::detach() {
  const std::lock_guard lock(mutex_);
  service_ = nullptr;
}

std::function<void(const std::vector<StoreStatus>&)> Watch::figures(const Database& database,
                                                                    const config::Settings& settings) {
  return [this, feeds = database.feeds(settings)](const std::vector<StoreStatus>& figures) {
    std::vector<RelayMetrics::FeedStatus> all;
    for (std::size_t i = 0; i < figures.size(); ++i) all.push_back({feeds[i], figures[i]});
    relay_metrics_.refresh(all);
  };
}

void Watch::refresh_leases() {
  const std::lock_guard lock(mutex_);
  if (service_ != nullptr) relay_metrics_.refresh_leases(service_->lanes_owned(), service_->leases_lost());
}

std::vector<FeedView> Watch::views() {
  const std::lock_guard lock(mutex_);
  return service_ == nullptr ? std::vector<FeedView>() : service_->view();
}

}  // namespace outbox::app
