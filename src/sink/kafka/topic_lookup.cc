#include "sink/kafka/topic_lookup.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace outbox::kafka {
namespace {

using namespace std::chrono_literals;

constexpr auto kAskTimeout = 1000ms;
constexpr auto kAgain = 100ms;

struct MetadataDestroyer {
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};

// The cluster's word on the topic; a local error (no broker, time-out) in `unanswered`.
rd_kafka_resp_err_t ask_metadata(rd_kafka_t* client, rd_kafka_topic_t* topic, bool& unanswered) {
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(client, 0, topic, &raw, static_cast<int>(kAskTimeout.count()));
  std::unique_ptr<const rd_kafka_metadata_t, MetadataDestroyer> metadata(raw);
  unanswered = error != RD_KAFKA_RESP_ERR_NO_ERROR || metadata->topic_cnt != 1;
  return unanswered ? error : metadata->topics[0].err;
}

std::size_t to_limit(const rd_kafka_ConfigResource_t* resource) {
  std::size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (std::string_view(rd_kafka_ConfigEntry_name(entries[i])) != "max.message.bytes" || !value) continue;
    const std::string_view text(value);
    std::size_t limit = 0;
    std::from_chars(text.data(), text.data() + text.size(), limit);
    return limit;
  }
  return 0;
}

// The topic's max.message.bytes, or 0 if the cluster does not tell.
std::size_t ask_limit(rd_kafka_t* client, const std::string& topic) {
  QueueHandle queue(rd_kafka_queue_new(client));
  std::unique_ptr<rd_kafka_AdminOptions_t, Destroyer<rd_kafka_AdminOptions_destroy>> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  char error[128];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), static_cast<int>(kAskTimeout.count()), error, sizeof error);
  std::unique_ptr<rd_kafka_ConfigResource_t, Destroyer<rd_kafka_ConfigResource_destroy>> resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  rd_kafka_DescribeConfigs(client, resources, 1, options.get(), queue.get());
  EventHandle event(rd_kafka_queue_poll(queue.get(), static_cast<int>((kAskTimeout + kAgain).count())));
  if (!event || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
  const rd_kafka_DescribeConfigs_result_t* result = rd_kafka_event_DescribeConfigs_result(event.get());
  std::size_t count = 0;
  const rd_kafka_ConfigResource_t** answers = rd_kafka_DescribeConfigs_result_resources(result, &count);
  return count == 1 ? to_limit(answers[0]) : 0;
}

}  // namespace

TopicLookup::TopicLookup(Answer answer, std::chrono::milliseconds patience)
    : answer_(std::move(answer)), patience_(patience), thread_([this](const std::stop_token& stop) { run(stop); }) {}

TopicLookup::~TopicLookup() {
  thread_.request_stop();
  thread_.join();
}

void TopicLookup::request(std::shared_ptr<Producer> producer, const std::string& topic) {
  {
    std::lock_guard lock(mutex_);
    requests_.push_back({std::move(producer), topic, Clock::now()});
  }
  changed_.notify_all();
}

void TopicLookup::cancel() {
  std::list<Request> dropped;
  std::lock_guard lock(mutex_);
  ++cancelled_;
  dropped.swap(requests_);
}

void TopicLookup::run(std::stop_token stop) {
  while (std::optional<Request> request = next(stop)) ask(std::move(*request));
}

std::optional<TopicLookup::Request> TopicLookup::next(std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stop.stop_requested()) return std::nullopt;
    const auto first = std::ranges::min_element(requests_, {}, &Request::due);
    if (first == requests_.end()) {
      changed_.wait(lock, stop, [this] { return !requests_.empty(); });
    } else if (first->due > Clock::now()) {
      const std::size_t size = requests_.size();
      changed_.wait_until(lock, stop, first->due, [this, size] { return requests_.size() != size; });
    } else {
      Request request = std::move(*first);
      requests_.erase(first);
      asking_ = cancelled_;
      return request;
    }
  }
}

void TopicLookup::ask(Request request) {
  TopicFacts facts;
  facts.name = request.topic;
  facts.handle = request.producer->topic(request.topic);
  bool unanswered = false;
  facts.error = ask_metadata(request.producer->client(), facts.handle.get(), unanswered);
  bool ask_again = unanswered;
  if (facts.error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    const auto now = Clock::now();
    if (request.patience_ends == Clock::time_point{}) request.patience_ends = now + patience_;
    ask_again = now < request.patience_ends;
  }
  if (ask_again) {
    facts.handle.reset();  // before the producer, which this may be the last to hold
    return again(std::move(request));
  }
  if (facts.error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) facts.error = RD_KAFKA_RESP_ERR_NO_ERROR;
  if (facts.error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    facts.payload_max = ask_limit(request.producer->client(), request.topic);
  } else {
    facts.handle.reset();
  }
  answer_(request.producer, std::move(facts));
}

void TopicLookup::again(Request request) {
  request.due = Clock::now() + kAgain;
  std::lock_guard lock(mutex_);
  if (asking_ == cancelled_) requests_.push_back(std::move(request));
}

}  // namespace outbox::kafka
