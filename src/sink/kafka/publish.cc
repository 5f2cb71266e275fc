// The way of a publication into the producer's queue.
#include <fmt/core.h>

#include <algorithm>

#include "sink/kafka/fault.h"
#include "sink/kafka/pipeline.h"
#include "sink/kafka/topic_name.h"

namespace outbox::kafka {
namespace {

constexpr std::size_t kTopicsMax = 1000;

Outcome too_large(std::size_t size, std::string_view what, std::string_view limit, std::size_t max) {
  return rejected("too_large", fmt::format("{} of {} bytes; {} allows {}", what, size, limit, max));
}

}  // namespace

void Pipeline::accept(const Publication& publication, Clock::time_point now) {
  if (std::optional<Outcome> outcome = refusal(publication, now)) {
    return finish(publication.id, *publication.record, std::move(*outcome), now);
  }
  Topic* topic = find_topic(publication.destination);
  if (!topic) {
    if (auto problem = topic_name_problem(publication.destination)) {
      return finish(publication.id, *publication.record, rejected("invalid_topic", std::move(*problem)), now);
    }
    evict_idle_topics();
    topic = &topics_[publication.destination];
    topic->name = publication.destination;
    ask_topic(*topic);
  }
  if (topic->state == Topic::State::refused) {
    if (now < topic->refused_until) return finish(publication.id, *publication.record, topic->refusal, now);
    ask_topic(*topic);
  }
  Held& held = hold(publication, *topic, now);
  if (topic->state == Topic::State::asking) {
    topic->waiting.push_back(&held);
  } else if (std::optional<Outcome> outcome = produce(held, now)) {
    finish(publication.id, *publication.record, std::move(*outcome), now);
    release(held);
  }
}

std::optional<Outcome> Pipeline::refusal(const Publication& publication, Clock::time_point now) {
  const Record& record = *publication.record;
  const bool passes = gate_.passes(record, publication.first_in_key);
  if (refusing_) return meanwhile_;
  if (down_ && (now < down_at_ + patience_.settle || !held_.empty())) return down_;
  if (!passes) return busy(Scope::destination, "behind_key", "an earlier message of its key was given back");
  if (record.payload_null && !settings_.tombstones) {
    return rejected("null_payload", "the payload is NULL; null_payload: tombstone would send it as a tombstone");
  }
  if (record.payload.size() > settings_.payload_max) {
    return too_large(record.payload.size(), "payload", "payload_max", settings_.payload_max);
  }
  return std::nullopt;
}

void Pipeline::finish(DeliveryId id, const Record& record, Outcome outcome, Clock::time_point now) {
  if (outcome.verdict == Verdict::busy || outcome.verdict == Verdict::client_dead) gate_.given_back(record, now);
  outgoing_.push_back({id, std::move(outcome)});
}

Topic* Pipeline::find_topic(const std::string& name) {
  if (last_topic_ && last_topic_->name == name) return last_topic_;
  const auto found = topics_.find(name);
  if (found == topics_.end()) return nullptr;
  return last_topic_ = &found->second;
}

Topic& Pipeline::ask_topic(Topic& topic) {
  topic.state = Topic::State::asking;
  topic.handle.reset();
  lookup_->request(producer_, topic.name);
  return topic;
}

// A route may put any field into its topic: names that come to nothing must not pile up.
void Pipeline::evict_idle_topics() {
  if (topics_.size() < kTopicsMax) return;
  last_topic_ = nullptr;
  std::erase_if(topics_, [](const auto& entry) {
    const Topic& topic = entry.second;
    return topic.state != Topic::State::asking && topic.produced == 0 && topic.waiting.empty();
  });
}

Held& Pipeline::hold(const Publication& publication, Topic& topic, Clock::time_point now) {
  if (held_.empty()) held_since_ = now;
  return held_.add(publication.id, publication.record, topic);
}

RecordPtr Pipeline::release(Held& held) {
  if (held.produced) {
    --produced_;
    --held.topic->produced;
  }
  return held_.release(held);
}

std::optional<Outcome> Pipeline::produce(Held& held, Clock::time_point now) {
  Topic& topic = *held.topic;
  Result<HeaderList> headers = wire_headers(*held.record);
  if (!headers) return rejected("bad_headers", headers.failure().what);
  if (topic.payload_max > 0) {
    const std::size_t size = batch_size(*held.record, *headers);
    if (size > topic.payload_max) {
      return too_large(size, "a batch of this message alone", "max.message.bytes of topic " + topic.name,
                       topic.payload_max);
    }
  }
  const rd_kafka_resp_err_t error = producer_->produce(topic.handle.get(), *held.record, to_kafka(*headers), &held);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return not_queued(held, error, now);
  held.produced = true;
  ++produced_;
  if (topic.produced++ == 0) topic.progress_at = now;
  return std::nullopt;
}

std::optional<Outcome> Pipeline::not_queued(Held& held, rd_kafka_resp_err_t error, Clock::time_point now) {
  if (fault_of(error) == Fault::client) {
    break_client("client_failed", rd_kafka_err2str(error));
    return std::nullopt;  // it stays held, and comes back with the rest
  }
  Outcome outcome = outcome_of(error, held.topic->name);
  if (outcome.verdict == Verdict::busy) refuse(*held.topic, outcome, now);
  return outcome;
}

void Pipeline::looked_up(const std::shared_ptr<Producer>& producer, TopicFacts facts) {
  const auto now = Clock::now();
  std::lock_guard lock(mutex_);
  if (producer != producer_ || refusing_) return;
  Topic* topic = find_topic(facts.name);
  if (!topic || topic->state != Topic::State::asking) return;
  answered(now);
  if (facts.error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Outcome outcome = outcome_of(facts.error, facts.name);
    if (outcome.verdict == Verdict::client_dead) {
      outcome = busy(Scope::destination, "no_metadata", std::move(outcome.detail));
    }
    refuse(*topic, std::move(outcome), now);
  } else if (facts.payload_max > 0 && facts.payload_max < producer->batch_bytes()) {
    batch_bytes_ = std::min(batch_bytes_, facts.payload_max);
    shrink_ = true;  // the topic is asked for again by the next producer
  } else {
    topic->handle = std::move(facts.handle);
    topic->payload_max = facts.payload_max;
    flush_waiting(*topic, now);
  }
  wake();
}

void Pipeline::flush_waiting(Topic& topic, Clock::time_point now) {
  topic.state = Topic::State::ready;
  std::vector<Held*> waiting = std::exchange(topic.waiting, {});
  for (Held* held : waiting) {
    std::optional<Outcome> outcome;
    if (topic.state == Topic::State::refused) {
      outcome = topic.refusal;
    } else if (!refusing_) {
      outcome = produce(*held, now);
    }
    if (!outcome) continue;
    finish(held->id, *held->record, std::move(*outcome), now);
    release(*held);
  }
}

void Pipeline::refuse(Topic& topic, Outcome outcome, Clock::time_point now) {
  topic.state = Topic::State::refused;
  topic.handle.reset();
  topic.refused_until = now + patience_.settle;
  topic.refusal = std::move(outcome);
  for (Held* held : std::exchange(topic.waiting, {})) {
    finish(held->id, *held->record, topic.refusal, now);
    release(*held);
  }
}

void Pipeline::answered(Clock::time_point now) {
  answered_at_ = now;
  unreachable_ = false;
  if (down_) back_ = true;
  down_.reset();
}

}  // namespace outbox::kafka
