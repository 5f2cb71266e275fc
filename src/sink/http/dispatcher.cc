#include "sink/http/dispatcher.h"

#include <utility>

namespace outbox::http {
namespace {

// Over all endpoints: a bound on sockets and memory where a route has many hosts.
constexpr std::size_t kMostTransfers = 256;
constexpr int kLongestWait = 1000;  // milliseconds; everything that matters wakes earlier

}  // namespace

Dispatcher::Dispatcher(const HttpOptions& options) : options_(options), multi_(curl_multi_init()) {
  OUTBOX_ASSERT(multi_ != nullptr);
}

Dispatcher::~Dispatcher() { abandon(unknown("closed", "")); }

void Dispatcher::wake() { curl_multi_wakeup(multi_.get()); }

void Dispatcher::add(std::vector<Publication> publications) {
  for (auto& publication : publications) {
    if (publication.record->payload_null) {
      done_.push_back({publication.id, rejected("null_payload", "the payload is NULL; a request has a body")});
      continue;
    }
    auto target = parse_url(publication.destination);
    if (!target) {
      done_.push_back({publication.id, rejected("bad_url", target.failure().what)});
      continue;
    }
    Endpoint& endpoint = endpoints_[target->endpoint];
    endpoint.waiting.emplace_back(std::move(publication), *std::move(target));
  }
}

std::vector<Completion> Dispatcher::step() {
  start_waiting();
  int running = 0;
  curl_multi_perform(multi_.get(), &running);
  collect();
  if (done_.empty()) {
    curl_multi_poll(multi_.get(), nullptr, 0, kLongestWait, nullptr);
    curl_multi_perform(multi_.get(), &running);
    collect();
  }
  return std::exchange(done_, {});
}

void Dispatcher::start_waiting() {
  for (auto at = endpoints_.begin(); at != endpoints_.end();) {
    start(at->second);
    const bool idle = at->second.running == 0 && at->second.waiting.empty();
    at = idle ? endpoints_.erase(at) : std::next(at);
  }
}

void Dispatcher::start(Endpoint& endpoint) {
  while (!endpoint.waiting.empty() && endpoint.running < options_.concurrency && running_.size() < kMostTransfers) {
    const auto [publication, target] = std::move(endpoint.waiting.front());
    endpoint.waiting.pop_front();
    auto transfer = idle_transfer();
    if (auto ready = transfer->prepare(publication, target); !ready) {
      done_.push_back({publication.id, rejected("bad_headers", ready.failure().what)});
      idle_.push_back(std::move(transfer));
      continue;
    }
    const CURLMcode added = curl_multi_add_handle(multi_.get(), transfer->handle());
    OUTBOX_ASSERT(added == CURLM_OK);
    ++endpoint.running;
    running_.emplace(transfer->handle(), std::move(transfer));
  }
}

void Dispatcher::collect() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
  }
}

void Dispatcher::finish(CURL* easy, CURLcode code) {
  const auto found = running_.find(easy);
  OUTBOX_ASSERT(found != running_.end());
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  running_.erase(found);
  done_.push_back({transfer->id(), transfer->finish(code)});
  curl_multi_remove_handle(multi_.get(), easy);
  --endpoints_.find(transfer->endpoint())->second.running;
  idle_.push_back(std::move(transfer));
}

std::vector<Completion> Dispatcher::abandon(const Outcome& outcome) {
  for (auto& [easy, transfer] : running_) {
    curl_multi_remove_handle(multi_.get(), easy);
    done_.push_back({transfer->id(), outcome});
  }
  running_.clear();
  for (auto& [name, endpoint] : endpoints_) {
    for (auto& [publication, target] : endpoint.waiting) done_.push_back({publication.id, outcome});
  }
  endpoints_.clear();
  return std::exchange(done_, {});
}

std::unique_ptr<Transfer> Dispatcher::idle_transfer() {
  if (idle_.empty()) return std::make_unique<Transfer>(options_);
  std::unique_ptr<Transfer> transfer = std::move(idle_.back());
  idle_.pop_back();
  return transfer;
}

}  // namespace outbox::http
