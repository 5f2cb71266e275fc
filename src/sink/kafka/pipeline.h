// Pipeline: the Sink over a Producer. Many messages of a key are in flight at once; what keeps their order when one
// fails is this:
//
// - The producer is idempotent and gapless: a batch that fails for good stops it before a later one is sent.
// - Then everything unconfirmed is thrown away and given back as client_dead, and everything published is refused
//   until reopen(). The relay sends again from the first gap, one by one. What fails with nothing else in flight
//   carries the blame for itself: rejected, or busy(destination).
// - With no broker in reach everything unconfirmed is given back as busy(sink), and what is published then is refused,
//   save one message as a probe, which stays until a broker answers.
//
// A topic is produced to once the cluster has said that it exists. A key of which something was given back is
// shut until that comes again (KeyGate).
//
// Threads: the relay's calls publish(); an own one takes events from the producer and reports outcomes; the lookup's
// asks about topics. One mutex guards all state; nothing under it blocks, and the listener is called without it. Only
// the own thread replaces a living producer.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sink/kafka/client_settings.h"
#include "sink/kafka/in_flight.h"
#include "sink/kafka/key_gate.h"
#include "sink/kafka/producer.h"
#include "sink/kafka/topic_lookup.h"
#include "sink/sink.h"

namespace outbox::kafka {

struct Patience {
  std::chrono::milliseconds unreachable{5'000};  // no broker in reach, nothing confirmed: the sink is down
  std::chrono::milliseconds stalled{30'000};     // brokers in reach, nothing confirmed: the topic, or the sink, is down
  std::chrono::milliseconds settle{1'000};  // a topic that was refused, a sink that is down: not tried again before
  std::chrono::milliseconds unknown_topic{1'000};
};

class Pipeline final : public Sink {
 public:
  Pipeline(ClientSettings settings, Patience patience);
  ~Pipeline() override;

  Capabilities capabilities() const override;
  Result<void> open(CompletionListener& listener) override;
  void publish(std::span<const Publication> batch) override;
  Result<void> reopen() override;
  void close() override;

 private:
  using Judge = std::function<Outcome(const Held&)>;

  // publish.cc: from a publication to the producer's queue. Mutex held.
  void accept(const Publication& publication, Clock::time_point now);
  std::optional<Outcome> refusal(const Publication& publication, Clock::time_point now);
  Topic* find_topic(const std::string& name);
  Topic& ask_topic(Topic& topic);
  void evict_idle_topics();
  Held& hold(const Publication& publication, Topic& topic, Clock::time_point now);
  std::optional<Outcome> produce(Held& held, Clock::time_point now);
  std::optional<Outcome> not_queued(Held& held, rd_kafka_resp_err_t error, Clock::time_point now);
  void looked_up(const std::shared_ptr<Producer>& producer, TopicFacts facts);  // lookup thread, takes the mutex
  void flush_waiting(Topic& topic, Clock::time_point now);
  void refuse(Topic& topic, Outcome outcome, Clock::time_point now);
  void answered(Clock::time_point now);
  void finish(DeliveryId id, const Record& record, Outcome outcome, Clock::time_point now);
  RecordPtr release(Held& held);
  void break_client(std::string reason, std::string detail);
  void wake();

  // events.cc: the own thread.
  void run();
  Producer* next_producer(std::chrono::milliseconds& timeout);
  void deliver();
  void handle(rd_kafka_event_t* event);
  std::vector<const rd_kafka_message_t*> take_reports(rd_kafka_event_t* event);
  void judge_failures(const std::vector<const rd_kafka_message_t*>& failures);
  void note_error(rd_kafka_event_t* event);

  // failing.cc: the own thread.
  void check(Producer& producer);
  void check_fatal(Producer& producer);
  void check_silence(Clock::time_point now);
  void give_up_client(std::string reason, std::string detail);
  void give_up_topics(const std::vector<const Topic*>& stalled);
  void go_down(std::string reason, std::string detail);
  std::size_t abandon(Outcome meanwhile, const Judge& judge);
  void take_last_reports(Producer& producer);
  std::vector<RecordPtr> take_back(const Judge& judge, std::vector<Completion>& given_back);
  Result<std::shared_ptr<Producer>> make_producer();
  void replace_producer();

  const ClientSettings settings_;
  const Patience patience_;
  CompletionListener* listener_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Producer> producer_;  // null: closed, or dead until reopen()
  std::size_t batch_bytes_ = kBatchBytes;
  InFlight held_;
  std::size_t produced_ = 0;  // of held_
  Topics topics_;
  Topic* last_topic_ = nullptr;
  KeyGate gate_;
  std::vector<Completion> outgoing_;
  bool delivering_ = false;  // outcomes are with the listener
  bool breaking_ = false;    // the client has failed; the own thread has not given it up yet
  bool abandoning_ = false;  // the producer is being given up
  bool closing_ = false;
  bool idle_ = false;     // the own thread waits without a time-out
  bool shrink_ = false;   // a topic takes smaller batches than this producer makes
  bool refusing_ = true;  // no living producer: everything published gets meanwhile_
  Outcome meanwhile_;

  Clock::time_point held_since_{};   // held_ left zero
  Clock::time_point answered_at_{};  // a broker's last word
  bool unreachable_ = false;         // the client has said that no broker is in reach
  std::optional<Outcome> down_;      // everything was given back for it; one probe is let through
  Clock::time_point down_at_{};
  bool back_ = false;  // no longer down, not said yet
  std::optional<Clock::time_point> fatal_at_;

  std::string last_error_;  // own thread
  std::string last_reason_ = "brokers_down";

  std::optional<TopicLookup> lookup_;
  std::jthread thread_;
};

}  // namespace outbox::kafka
