#include "app/demo_partner.h"

#include <fmt/format.h>

#include "app/http_endpoint.h"
#include "base/log.h"

namespace outbox::app {
namespace {

constexpr std::chrono::milliseconds kTurn{20};

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

}  // namespace

std::string_view to_string(Mood mood) {
  switch (mood) {
    case Mood::well: return "well";
    case Mood::failing: return "failing";
    case Mood::hanging: return "hanging";
    case Mood::down: return "down";
  }
  return "?";
}

Result<std::unique_ptr<DemoPartner>> DemoPartner::start(std::vector<Turn> turns) {
  std::unique_ptr<DemoPartner> partner(new DemoPartner(std::move(turns)));
  auto listening = partner->endpoint_->listen();
  if (!listening) return listening.failure();
  partner->thread_ = std::jthread([raw = partner.get()](const std::stop_token& stop) { raw->work(stop); });
  return partner;
}

DemoPartner::DemoPartner(std::vector<Turn> turns)
    : endpoint_(std::make_unique<HttpEndpoint>()), turns_(std::move(turns)) {}

DemoPartner::~DemoPartner() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

std::string DemoPartner::url() const { return fmt::format("http://127.0.0.1:{}/invoices", endpoint_->port()); }

void DemoPartner::stay(Mood mood) {
  const std::lock_guard lock(mutex_);
  stays_ = true;
  mood_ = mood;
}

DemoPartner::Counts DemoPartner::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<DemoPartner::Arrival> DemoPartner::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

void DemoPartner::take_turns(Time at) {
  const std::lock_guard lock(mutex_);
  if (turns_.empty() || stays_ || at < turn_ends_) return;
  const bool first = turn_ends_ == Time{};
  turn_ = first ? 0 : (turn_ + 1) % turns_.size();
  turn_ends_ = at + turns_[turn_].lasts;
  mood_ = turns_[turn_].mood;
}

void DemoPartner::work(const std::stop_token& stop) {
  Mood before = Mood::well;
  while (!stop.stop_requested()) {
    take_turns(now());
    const Mood current = mood_;
    if (current == Mood::down) {
      endpoint_->shut();
    } else {
      if (before == Mood::hanging && current != before) endpoint_->drop_unanswered();
      auto listening = endpoint_->listen();
      if (!listening) log::every(1s, "demo_partner", log::Level::warn, listening.failure().what);
    }
    before = current;
    for (const auto& request : endpoint_->turn(kTurn)) answer(request);
  }
  endpoint_->shut();
}

void DemoPartner::answer(const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  ++counts_.requests;
  const std::string key = request.header("idempotency-key");
  if (key.empty()) return endpoint_->reply(request.connection, 400, R"({"error":"no Idempotency-Key"})");
  if (mood_ == Mood::failing) {
    ++counts_.failed;
    return endpoint_->reply(request.connection, 500, R"({"error":"out of order"})");
  }
  if (request.body.find(R"("vat_id":"")") != std::string::npos) {
    counts_.refused += refused_.insert(key).second ? 1 : 0;
    return endpoint_->reply(request.connection, 422, R"({"error":"vat_id is missing"})");
  }
  const auto [remembered, fresh] = answers_.try_emplace(key);
  if (fresh) {
    remembered->second = fmt::format(R"({{"invoice":{}}})", ++counts_.invoices);
  } else {
    ++counts_.repeats;
  }
  arrivals_.push_back({key, request.body});
  if (mood_ == Mood::hanging) {
    ++counts_.hung;
    return;
  }
  endpoint_->reply(request.connection, fresh ? 201 : 200, remembered->second);
}

}  // namespace outbox::app
