#include "fault/http_end.h"

namespace outbox::test {

HttpEnd::HttpEnd() : stub_([this](const StubRequest& request) { return answer(request); }) {
  stub_.keep_requests(false);
}

std::string HttpEnd::sink(int port) const {
  return "type: http, url: \"http://127.0.0.1:" + std::to_string(port) + "/\", timeout: { connect: 1s, total: 1s }";
}

StubReply HttpEnd::answer(const StubRequest& request) {
  if (paused_) return {.status = 503, .manner = StubReply::Manner::hang};  // said at resume(), if it is still heard
  std::string id = request.header("idempotency-key");
  if (fails_ && fails_(id)) return {.status = 500};
  const std::lock_guard lock(mutex_);
  arrivals_.push_back({std::move(id), wall_clock_ms()});
  return {};
}

std::int64_t HttpEnd::count() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(arrivals_.size());
}

std::vector<Arrival> HttpEnd::arrivals() {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

void HttpEnd::pause() {
  stub_.hold();
  paused_ = true;
}

void HttpEnd::resume() {
  paused_ = false;
  stub_.release();
}

}  // namespace outbox::test
