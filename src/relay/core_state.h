// Core::State: what the core remembers. Private to core*.cc:
//
//   core.cc           the events, and what became of the store's answers
//   core_ingest.cc    a page's records: routed, queued, parked
//   core_outcomes.cc  a sink's outcomes: settled, charged, parked, dead
//   core_decide.cc    which commands come next
//   core_refusals.cc  what the database refuses to store
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relay/core.h"
#include "relay/outbound.h"
#include "relay/progress.h"

namespace outbox {

class Core::State {
 public:
  static constexpr std::size_t kWaitingKeyMax = 2000;  // bytes

  State(CoreOptions options, std::shared_ptr<const Router> router, std::uint64_t seed);

  struct Side {  // one sink of the feed
    Side(std::size_t place, const CoreSink& sink, bool single)
        : index(place), options(sink), out(sink.capabilities, sink.breaker, sink.budget, single) {}
    std::size_t index;  // in CoreOptions::sinks
    CoreSink options;
    Outbound out;

    ParkedCounts parked;            // as of the last answer, plus what was parked since
    bool concerns_stream = true;    // ask facts of each page
    bool parked_since_due = false;  // something was parked while a due was outstanding
    SteadyTime due_at{};            // when to ask for due deliveries again
    Time next_due = kNever;         // of the last answer: when the next waiting delivery is due
    bool due_answered = false;
    bool counted_only = false;  // the last question brought no deliveries: there was no use for any

    bool paused = false;
    bool wants_new_key = false;  // a probe failed: at the cap one record may be read, for another key to probe with
    int deaths = 0;              // of the client, in a row
    SteadyTime reopen_at = kNeverSteady;
    bool reopen_outstanding = false;

    // Destination::successes at the last try of a message that was parked since: it outlives the Delivery, so that the
    // next 500 can be told from an outage. Bounded; forgetting one only delays the charge by a try.
    std::unordered_map<std::string, std::uint64_t> successes_seen;

    std::uint64_t delivered = 0;
    std::uint64_t retried = 0;
    std::uint64_t died = 0;
    std::string last_error;
    std::string breaker_reason;
    Time last_delivery{};
  };

  // core.cc
  void started(const FeedState& state, const Now& now);
  void fetched(Result<Page> page, const Now& now);
  void facts(Result<PageFacts> facts, const Now& now);
  void due(Result<std::vector<ParkedRun>> runs, const Result<Store::Parking>& parking, const Now& now);
  void settled(const Result<void>& result, const Now& now);
  void completed(std::size_t sink, const std::vector<Completion>& completions, const Now& now);
  void reopened(std::size_t sink, const Result<void>& result, const Now& now);
  std::vector<SinkView> view() const;
  std::string refusal() const;

  void tick(const Now& now);
  void lapsed(const Now& now);
  void leased(const Now& now);
  void pause(std::size_t sink, bool paused, const Now& now);
  void poke(const Now& now);
  void stop(const Now& now);
  void drain(const Now& now);
  Commands take() { return std::exchange(commands_, {}); }
  bool fenced() const { return fenced_; }

 private:
  enum class Asked { nothing, settle, facts, due };

  struct Unwritten {
    SettleBatch batch;
    std::vector<Commands::Died> died;                               // told, and their keys go on, when it is stored
    std::vector<std::pair<const Side*, std::string>> updated_keys;  // of batch.updates, in their order
  };
  struct Refusal {
    Unwritten what;
    std::string error;
  };

  void look_at(const Now& now);
  // A moment of one clock by the other, as they stand now.
  SteadyTime steady(Time stored) const { return stored == kNever ? kNeverSteady : now_ + (stored - database_now_); }
  Time stored(SteadyTime at) const { return database_now_ + (at - now_); }

  // core_ingest.cc
  void ask_facts_or_ingest();
  void ingest();
  void ingest_record(const RecordPtr& record);
  void route_record(Side& side, const RecordPtr& record, const Route& route, Ordinal ordinal, const PageFacts& facts);
  void load_run(Side& side, ParkedRun run);
  bool load_parked(Side& side, Line& line, Parked parked);
  bool die_if_unfit(Side& side, Delivery& delivery, bool has_address);

  // core_outcomes.cc
  void outcome(Side& side, Delivery& delivery, const Outcome& outcome);
  void on_delivered(Side& side, Delivery& delivery);
  void on_unknown(Side& side, Delivery& delivery, const Outcome& outcome);
  void on_client_dead(Side& side, Delivery& delivery, const Outcome& outcome);
  void charge(Side& side, Delivery& delivery, const Outcome& outcome);
  void give_back(Side& side, Delivery& delivery, const Outcome& outcome);
  void destination_failed(const Side& side, Destination& to, const std::string& failure);
  static std::string loggable_name(const Side& side, const Destination& destination);
  void die(Side& side, Delivery& delivery, const std::string& reason, const std::string& error);
  void destination_closed(Side& side, Delivery& delivery);
  // Stores have an index on the keys of what waits, which takes no key of any length. One that is longer is retried
  // from memory, holding the position meanwhile.
  static bool can_wait(const Record& record) { return record.key.size() <= kWaitingKeyMax; }
  // Parks a delivery of the stream, or updates the row of one that was parked; removes it, and lets its key follow.
  void park(Side& side, Delivery& delivery, DeliveryState state, SteadyTime next_attempt, bool charged,
            const std::string& reason, const std::string& error);
  void release_probe(Side& side, Delivery& delivery);
  void remember_successes(Side& side, const Delivery& delivery);
  void add_park(Side& side, Park park);
  static void count_park(ParkedCounts& counts, const Park& park);
  // Later messages of its key wait for it.
  static bool blocks_key(const Park& park) {
    return (park.state == DeliveryState::waiting && !park.not_due) || park.holds_key;
  }
  void add_update(const Side& side, const std::string& key, ParkedUpdate update);
  void retreat(Side& side, Line& line);
  const RetryPolicy& retry_of(const Side& side, const Delivery& delivery) const;

  // core_decide.cc: decide() fills commands_.
  void decide();
  void decide_publish();
  void decide_store();
  void decide_fetch();
  void decide_reopen();
  SteadyTime reopen_at(const Side& side) const;
  void settle_early(Side& side, const std::vector<Publication>& batch);  // a broken variant's
  void spill();
  void release_front();
  std::vector<std::string> keys_not_due(const Side& side) const;
  SteadyTime due_question_at(const Side& side) const;
  bool may_load(const Side& side) const;
  bool wants_settle() const;
  void send_settle();
  bool send_part();
  std::size_t held_records() const;
  bool has_room() const;
  bool may_fetch() const;
  bool at_cap(const Side& side) const;
  bool takes_nothing(const Side& side) const;
  bool may_read(const Side& side) const;
  bool waits_for_destination(const Side& side) const;
  bool nothing_to_write() const;
  bool idle() const;
  bool drained() const;
  SteadyTime next_wake() const;
  void want_restart();
  void store_failed(const Failure& failure);

  void written(Unwritten done);

  // core_refusals.cc
  bool take_apart(const Failure& failure);
  Unwritten take_first_part(Unwritten& rest) const;
  bool has_died_in(const SettleBatch& batch, const Commands::Died& died) const;
  void refuse(Unwritten refused, const Failure& failure);
  void take_dependents(SettleBatch& from, std::vector<Commands::Died>& died, Unwritten& refused) const;
  void withhold_dependents();
  void try_refused_again();
  bool position_is_held() const;
  std::size_t refused_items() const;

  void note_death(Side& side, Commands::Died died);
  Side* side_of(const std::string& sink);

  CoreOptions options_;
  std::shared_ptr<const Router> router_;
  Random random_;
  SteadyTime now_{};
  Time database_now_{};
  Commands commands_;
  bool stopping_ = false;
  bool draining_ = false;
  bool fenced_ = false;

  Progress progress_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::unordered_set<std::string> held_ids_;  // source_repeats: what must not be taken in twice
  std::vector<std::string> marked_ids_;       // of those: settled, but a fetch that began before may bring them again

  // The page that was fetched and waits for the store's facts, one answer per sink.
  std::optional<Page> page_;
  std::vector<PageFacts> page_facts_;

  Asked asked_ = Asked::nothing;
  std::size_t due_side_ = 0;
  SettleBatch pending_;                                            // grows until it is sent
  std::vector<Commands::Died> pending_died_;                       // the dead letters in pending_
  std::vector<std::pair<const Side*, std::string>> updated_keys_;  // of pending_.updates
  Unwritten sent_;                                                 // outstanding, or to be repeated unchanged
  std::deque<Unwritten> parts_;  // of a batch that was refused, or refused before: sent first, one after the other
  std::vector<Refusal> refusals_;
  SteadyTime refusals_at_ = kNeverSteady;  // when they are tried again
  int refusal_tries_ = 0;
  bool sent_failed_ = false;
  int settle_failures_ = 0;
  SteadyTime settle_at_{};  // not before, unless something is parked
  SteadyTime store_at_{};   // no question before: the last one failed

  bool fetch_outstanding_ = false;
  bool poked_ = false;           // while a fetch was outstanding: what it brings may be older than the poke
  bool drained_source_ = false;  // draining: a page came back that was not full
  SteadyTime poll_at_{};
  Duration poll_pause_{};
  int fetch_failures_ = 0;

  bool running_ = false;  // between started() and the next restart
  bool restart_outstanding_ = false;
  bool lapsed_ = false;  // the restart waits for a lease
};

}  // namespace outbox
