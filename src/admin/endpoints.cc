#include "admin/endpoints.h"

#include "admin/health.h"

namespace outbox {

namespace {

AdminResponse to_response(const HealthReport& report, std::string_view name) {
  return {report.good ? 200 : 503, "application/json", report.json(name)};
}

}  // namespace

AdminHandlers admin_endpoints(const Metrics& metrics, const std::function<std::vector<FeedView>()>& views) {
  AdminHandlers handlers;
  handlers["/metrics"] = [&metrics](const AdminRequest&) {
    return AdminResponse{200, "text/plain; version=0.0.4; charset=utf-8", metrics.text()};
  };
  handlers["/healthz"] = [views](const AdminRequest&) {
    return to_response(health(views(), std::chrono::steady_clock::now()), "alive");
  };
  handlers["/readyz"] = [views](const AdminRequest&) {
    return to_response(readiness(views(), std::chrono::steady_clock::now()), "ready");
  };
  return handlers;
}

}  // namespace outbox
