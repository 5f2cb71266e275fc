// The own thread: when a producer is given up, and what becomes of what it held.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "sink/kafka/pipeline.h"

namespace outbox::kafka {
namespace {

using namespace std::chrono_literals;

constexpr auto kReportsAfterFatal = 1000ms;
constexpr auto kReportsAfterPurge = 300ms;

// Fatal to the client, but not cured by another one.
bool is_refusal(rd_kafka_resp_err_t fatal) {
  return fatal == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED || fatal == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

}  // namespace

void Pipeline::check(Producer& producer) {
  const auto now = Clock::now();
  std::unique_lock lock(mutex_);
  if (!producer_ || closing_) return;
  if (breaking_) {
    const Outcome why = meanwhile_;
    lock.unlock();
    return give_up_client(why.reason, why.detail);
  }
  if (shrink_) {
    const bool producing = produced_ > 0;
    const std::size_t batch_bytes = batch_bytes_;
    lock.unlock();
    if (!producing) return replace_producer();
    return give_up_client("smaller_batches", fmt::format("a topic takes batches of {} bytes only", batch_bytes));
  }
  const bool fatal = fatal_at_.has_value();
  lock.unlock();
  fatal ? check_fatal(producer) : check_silence(now);
}

// The report of the message that caused the error comes after it: one that was alone may still get its own verdict.
void Pipeline::check_fatal(Producer& producer) {
  char text[512];
  const rd_kafka_resp_err_t code = rd_kafka_fatal_error(producer.client(), text, sizeof text);
  if (is_refusal(code)) return go_down("refused", text);
  std::unique_lock lock(mutex_);
  if (held_.empty() || (held_.size() == 1 && produced_ == 0)) {
    lock.unlock();
    return replace_producer();
  }
  if (held_.size() == 1 && Clock::now() < *fatal_at_ + kReportsAfterFatal) return;
  lock.unlock();
  give_up_client("client_failed", text);
}

void Pipeline::check_silence(Clock::time_point now) {
  std::vector<const Topic*> stalled;
  bool unreachable = false;
  bool unanswered = false;  // not even about topics
  bool all = true;
  {
    std::lock_guard lock(mutex_);
    if (held_.empty() || down_) return;  // what is held while down is the probe
    const auto silent_since = std::max(answered_at_, held_since_);
    unreachable = unreachable_ && now >= silent_since + patience_.unreachable;
    unanswered = produced_ == 0 && now >= silent_since + patience_.stalled;
    for (const auto& [name, topic] : topics_) {
      const bool silent = now >= topic.progress_at + patience_.stalled;
      if (silent && topic.produced > 0) stalled.push_back(&topic);
      if (!silent) all = false;
    }
  }
  if (unreachable) return go_down(last_reason_, last_error_.empty() ? "no broker in reach" : last_error_);
  if (unanswered) return go_down("no_metadata", "the cluster does not say whether the topic exists");
  if (stalled.empty()) return;
  if (all) return go_down("no_confirmation", fmt::format("nothing was confirmed for {} s", patience_.stalled / 1s));
  give_up_topics(stalled);
}

void Pipeline::give_up_client(std::string reason, std::string detail) {
  Outcome outcome = client_dead(std::move(reason), std::move(detail));
  const std::size_t count = abandon(outcome, [&](const Held&) { return outcome; });
  log::warn("kafka client given up", {{"sink", settings_.sink},
                                      {"reason", outcome.reason},
                                      {"error", outcome.detail},
                                      {"unconfirmed", std::to_string(count)}});
}

// Some topics confirm nothing while others do. The producer goes with them: what it holds cannot be taken back singly.
void Pipeline::give_up_topics(const std::vector<const Topic*>& stalled) {
  const Outcome others = client_dead("topic_stalled", "another topic confirms nothing: " + stalled.front()->name);
  const Outcome theirs =
      busy(Scope::destination, "no_confirmation",
           fmt::format("nothing was confirmed for {} s; see the topic's leaders and in-sync replicas",
                       patience_.stalled / 1s));
  const std::string topic = stalled.front()->name;
  abandon(others, [&](const Held& held) { return std::ranges::count(stalled, held.topic) > 0 ? theirs : others; });
  log::warn("kafka topic confirms nothing", {{"sink", settings_.sink}, {"topic", topic}});
}

void Pipeline::go_down(std::string reason, std::string detail) {
  Outcome outcome = busy(Scope::sink, std::move(reason), std::move(detail));
  const std::size_t count = abandon(outcome, [&](const Held&) { return outcome; });
  log::warn("kafka is down", {{"sink", settings_.sink},
                              {"reason", outcome.reason},
                              {"error", outcome.detail},
                              {"unconfirmed", std::to_string(count)}});
  Result<std::shared_ptr<Producer>> producer = make_producer();
  std::lock_guard lock(mutex_);
  if (producer_) return;  // reopen() was faster
  if (!producer) {
    meanwhile_ = client_dead("client_failed", producer.failure().what);
    return;
  }
  producer_ = std::move(*producer);
  refusing_ = false;
  down_ = outcome;
  down_at_ = Clock::now();
}

// Gives back everything held, without a producer afterwards. What arrives meanwhile and later gets `meanwhile`.
std::size_t Pipeline::abandon(Outcome meanwhile, const Judge& judge) {
  std::shared_ptr<Producer> old;
  {
    std::lock_guard lock(mutex_);
    refusing_ = true;
    abandoning_ = true;
    meanwhile_ = std::move(meanwhile);
    old = producer_;
    for (const Held& held : held_) gate_.given_back(*held.record, Clock::now());  // before any that comes meanwhile
  }
  lookup_->cancel();
  if (old) take_last_reports(*old);
  std::vector<Completion> given_back;
  {
    std::lock_guard lock(mutex_);
    std::vector<RecordPtr> records = take_back(judge, given_back);
    if (old) old->keep_until_destroyed(std::move(records));
    producer_.reset();
  }
  old.reset();  // its connections are closed before anything is reported
  const std::size_t count = given_back.size();
  std::lock_guard lock(mutex_);
  outgoing_.insert(outgoing_.begin(), std::make_move_iterator(given_back.begin()),
                   std::make_move_iterator(given_back.end()));
  abandoning_ = false;
  changed_.notify_all();  // reopen() may wait for it, and with nothing to report nothing else tells it
  return count;
}

Result<std::shared_ptr<Producer>> Pipeline::make_producer() {
  std::size_t batch_bytes = 0;
  {
    std::lock_guard lock(mutex_);  // the lookup's thread may make it less
    batch_bytes = batch_bytes_;
  }
  return Producer::create(settings_, batch_bytes);
}

// What was confirmed before the purge is delivered, not given back.
void Pipeline::take_last_reports(Producer& producer) {
  producer.purge();
  const auto deadline = Clock::now() + kReportsAfterPurge;
  while (producer.unreported() > 0 && Clock::now() < deadline) {
    EventHandle event = producer.poll(20ms);
    if (event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) take_reports(event.get());
  }
}

// Mutex held.
std::vector<RecordPtr> Pipeline::take_back(const Judge& judge, std::vector<Completion>& given_back) {
  std::vector<RecordPtr> records;
  records.reserve(held_.size());
  given_back.reserve(held_.size());
  while (!held_.empty()) {
    Held& held = held_.front();
    given_back.push_back({held.id, judge(held)});
    records.push_back(release(held));
  }
  topics_.clear();
  last_topic_ = nullptr;
  shrink_ = false;
  breaking_ = false;
  fatal_at_.reset();
  unreachable_ = false;
  return records;
}

// Nothing is in the old producer. What waits for topics waits on.
void Pipeline::replace_producer() {
  Result<std::shared_ptr<Producer>> producer = make_producer();
  if (!producer) return give_up_client("client_failed", producer.failure().what);
  lookup_->cancel();
  std::unique_lock lock(mutex_);
  if (produced_ > 0 || breaking_) {  // published meanwhile, into the old one
    lock.unlock();
    return give_up_client("client_failed", "the producer could send nothing any more");
  }
  std::swap(producer_, *producer);
  fatal_at_.reset();
  shrink_ = false;
  last_topic_ = nullptr;
  std::erase_if(topics_, [](const auto& entry) {
    return entry.second.waiting.empty() && entry.second.state != Topic::State::refused;
  });
  for (auto& [name, topic] : topics_) {
    if (!topic.waiting.empty()) ask_topic(topic);
  }
}

}  // namespace outbox::kafka
