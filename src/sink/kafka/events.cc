// The own thread: takes events from the producer, reports outcomes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/text.h"
#include "sink/kafka/fault.h"
#include "sink/kafka/pipeline.h"

namespace outbox::kafka {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckEvery = 200ms;  // while messages are held
constexpr auto kLogEvery = 10s;
constexpr std::size_t kErrorMax = 500;

// Facilities that say nothing of use: failures come as error events too, a producer id is waited for at each broker
// start, and the settings are ours.
constexpr std::array<std::string_view, 5> kNoise{"FAIL", "ERROR", "FATAL", "GETPID", "CONFWARN"};

std::string receipt(const rd_kafka_message_t& message, const std::string& topic) {
  return fmt::format("{}/{}/{}", topic, message.partition, message.offset);
}

Held& held_of(const rd_kafka_message_t& message) { return *static_cast<Held*>(message._private); }

std::string_view reason_for(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION: return "authentication";
    case RD_KAFKA_RESP_ERR__SSL: return "tls";
    case RD_KAFKA_RESP_ERR__RESOLVE: return "dns";
    default: return "brokers_down";
  }
}

void log_client(const std::string& sink, rd_kafka_event_t* event) {
  const char* facility = nullptr;
  const char* text = nullptr;
  int severity = 0;
  if (rd_kafka_event_log(event, &facility, &text, &severity) != 0) return;
  const bool matters = severity <= 4 && std::ranges::count(kNoise, std::string_view(facility)) == 0;
  log::every(kLogEvery, "kafka_log:" + sink + facility, matters ? log::Level::warn : log::Level::debug,
             "kafka client says", {{"sink", sink}, {"facility", facility}, {"text", one_line(text)}});
}

}  // namespace

void Pipeline::run() {
  std::chrono::milliseconds timeout{};
  while (Producer* producer = next_producer(timeout)) {
    EventHandle event = producer->poll(timeout);
    if (event) handle(event.get());
    event.reset();  // before its producer
    check(*producer);
  }
  Outcome closed = unknown("closed", "the sink was closed before the broker confirmed");
  abandon(closed, [&](const Held&) { return closed; });
  deliver();
}

// Null when closing.
Producer* Pipeline::next_producer(std::chrono::milliseconds& timeout) {
  for (;;) {
    deliver();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || producer_ || !outgoing_.empty(); });
    if (!outgoing_.empty()) continue;
    if (closing_) return nullptr;
    idle_ = held_.empty();
    timeout = idle_ ? -1ms : kCheckEvery;
    return producer_.get();
  }
}

void Pipeline::deliver() {
  std::vector<Completion> completions;
  bool back = false;
  {
    std::lock_guard lock(mutex_);
    completions.swap(outgoing_);
    back = std::exchange(back_, false);
    delivering_ = !completions.empty();
  }
  if (back) log::info("kafka is back", {{"sink", settings_.sink}});
  if (completions.empty()) return;
  listener_->completed(std::move(completions));
  std::lock_guard lock(mutex_);
  delivering_ = false;
  changed_.notify_all();
}

void Pipeline::handle(rd_kafka_event_t* event) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_DR: {
      const std::vector<const rd_kafka_message_t*> failures = take_reports(event);
      if (!failures.empty()) judge_failures(failures);
      break;
    }
    case RD_KAFKA_EVENT_ERROR: note_error(event); break;
    case RD_KAFKA_EVENT_LOG: log_client(settings_.sink, event); break;
    default: break;
  }
}

// Settles what was confirmed, returns the rest; it is valid as long as the event.
std::vector<const rd_kafka_message_t*> Pipeline::take_reports(rd_kafka_event_t* event) {
  std::vector<const rd_kafka_message_t*> messages(rd_kafka_event_message_count(event));
  messages.resize(rd_kafka_event_message_array(event, messages.data(), messages.size()));
  std::vector<const rd_kafka_message_t*> failures;
  std::vector<Completion> completions;
  completions.reserve(messages.size());
  for (const rd_kafka_message_t* message : messages) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      failures.push_back(message);
      continue;
    }
    const Held& held = held_of(*message);  // its id and topic stand still until it is released, below
    completions.push_back({held.id, delivered(receipt(*message, held.topic->name))});
  }
  std::vector<RecordPtr> records;  // freed without the lock
  records.reserve(completions.size());
  const auto now = Clock::now();
  {
    std::lock_guard lock(mutex_);
    for (const rd_kafka_message_t* message : messages) {
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      Held& held = held_of(*message);
      held.topic->progress_at = now;
      gate_.confirmed(*held.record);
      records.push_back(release(held));
    }
    if (!completions.empty()) answered(now);
  }
  if (!completions.empty()) listener_->completed(std::move(completions));
  return failures;
}

void Pipeline::judge_failures(const std::vector<const rd_kafka_message_t*>& failures) {
  const rd_kafka_message_t& first = *failures.front();
  std::lock_guard lock(mutex_);
  const bool alone = held_.size() == 1 && failures.size() == 1;
  if (alone && fault_of(first.err) != Fault::client) {
    Held& held = held_of(first);
    const auto now = Clock::now();
    Outcome outcome = outcome_of(first.err, held.topic->name);
    if (outcome.verdict == Verdict::busy) refuse(*held.topic, outcome, now);
    answered(now);
    finish(held.id, *held.record, std::move(outcome), now);
    release(held);
    return;
  }
  if (fatal_at_) {  // check_fatal knows the reason behind it, and need not wait for this report any more
    fatal_at_ = Clock::time_point{};
    return;
  }
  break_client(std::string(reason_of(first.err)), fmt::format("topic {}: {} failed with {}", held_of(first).topic->name,
                                                              failures.size(), rd_kafka_err2name(first.err)));
}

void Pipeline::note_error(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (rd_kafka_event_error_is_fatal(event) != 0) {
    std::lock_guard lock(mutex_);
    fatal_at_ = Clock::now();
    return;
  }
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    std::lock_guard lock(mutex_);
    unreachable_ = true;
    return;
  }
  last_error_ = one_line(rd_kafka_event_error_string(event)).substr(0, kErrorMax);
  last_reason_ = reason_for(error);
  log::every(kLogEvery, "kafka_error:" + settings_.sink, log::Level::warn, "kafka client failed",
             {{"sink", settings_.sink}, {"error", last_error_}});
}

}  // namespace outbox::kafka
