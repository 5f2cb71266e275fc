// Outbound: the deliveries of one sink that are in memory, queued by key and by destination, and what may be published
// next. The core decides what an outcome means; this class keeps the order.
//
// The deliveries of a key stand in a Line, in the order in which they are to arrive. A sink that pipelines a key may
// have several of them in flight; any other sink has one.
//
// Thread: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/delivery.h"
#include "model/outcome.h"
#include "relay/budget.h"
#include "relay/notice.h"
#include "relay/policy.h"
#include "relay/progress.h"
#include "sink/sink.h"

namespace outbox {

struct Line;

// What is up or down as a whole: a topic, or all that a route sends to an endpoint
// (Capabilities::fields_lead_elsewhere).
struct Destination {
  explicit Destination(BreakerPolicy policy) : own_breaker(policy) {}
  std::string name;
  Breaker own_breaker;
  Breaker* breaker = nullptr;    // own_breaker; the sink's where the sink has one destination only
  std::uint64_t successes = 0;   // confirmed deliveries, to tell a message's 500 from the destination's
  std::string failed_probe_key;  // the key of the last probe that failed
  std::size_t users = 0;         // deliveries that point here
  std::string last_failure;      // that counted against it
  Notice notice;

  bool is_the_sink() const { return breaker != &own_breaker; }
};

// What a delivery dies of when its turn comes.
struct Doom {
  std::string reason;
  std::string error;
};

struct Delivery {
  DeliveryId id = 0;
  RecordPtr record;
  DeliveryState state = DeliveryState::claimed;
  Line* line = nullptr;
  Delivery* before = nullptr;  // its neighbours in the line
  Delivery* behind = nullptr;
  Destination* destination = nullptr;
  std::string address;  // where the destination has several; else empty, and its name is the address
  const Route* route = nullptr;
  std::optional<Ordinal> ordinal;  // of the stream; absent: it was parked
  std::int64_t row = 0;            // of the side table, where it was parked
  int replays = 0;                 // of that row, as it was loaded
  int attempts = 0;                // charged
  Time failing_since{};            // when the first of those failed
  int uncharged = 0;               // tries in this life that were not charged
  SteadyTime retry_at{};           // not before
  SteadyTime published_at{};
  std::uint64_t successes_seen = 0;  // Destination::successes at its last try
  bool was_tried = false;
  bool is_probe = false;
  bool is_ahead = false;       // stands before Line::next
  bool sent_alone = false;     // with nothing else in flight, after its client had died
  std::unique_ptr<Doom> doom;  // set: it is not published any more, and dies as the first of its line

  bool parked() const { return !ordinal.has_value(); }
  // By whosever fault, in this life or an earlier one.
  bool has_failed() const { return attempts > 0 || uncharged > 0 || was_tried; }
};

// What a line is besides its deliveries; all at their defaults once it holds none and means nothing any more.
struct LineState {
  std::size_t size = 0;
  std::size_t parked = 0;  // of them, those that came from the side table
  std::size_t in_flight = 0;
  Delivery* first = nullptr;
  Delivery* last = nullptr;
  Delivery* next = nullptr;        // the line goes on from here: the first that was not handed over, or that came back
  std::size_t ahead = 0;           // how many stand before `next`; all of them are in flight
  std::size_t parks_pending = 0;   // parked by us, not yet confirmed by the store
  std::size_t deaths_pending = 0;  // dead by our decision, not yet confirmed by the store
  bool rows_behind = false;        // the side table may hold waiting deliveries of the key that are not in the line
  bool retreating = false;         // its head is parked: the rest follows as soon as nothing is in flight
  bool in_ready = false;
  bool awaits_token = false;
  bool idle_listed = false;
  SteadyTime delayed_until{};
};

// The deliveries of one key, first to last. They are linked through themselves: with many keys a line lives for one
// message, and must cost no memory of its own.
struct Line : LineState {
  std::string key;

  bool empty() const { return size == 0; }
  bool has_parked() const { return parked > 0; }
  bool has_stream() const { return parked < size; }
  bool must_park() const { return rows_behind || parks_pending > 0 || retreating || has_parked(); }
};

class Outbound {
 public:
  Outbound(Capabilities capabilities, BreakerPolicy breaker, RetryBudgetPolicy budget, bool single_destination);

  // Starts over. What is in flight is forgotten but for its place in the sink's window.
  void restart();

  Line& line(const std::string& key);
  Line* find_line(const std::string& key);
  // Of the stream.
  Delivery& append(Line& line, RecordPtr record, const Route& route, const std::string& address, Ordinal ordinal);
  // From the side table.
  Delivery& append_parked(Line& line, RecordPtr record, const Route& route, const std::string& address,
                          std::int64_t row);
  // Removes it from its line and forgets it.
  void remove(Delivery& delivery);
  // Null for an id of an earlier life, whose place in the window is given back.
  Delivery* find(DeliveryId id);

  // Makes the line a candidate for select(), now or at its head's retry_at; or for sweep(), if it is empty.
  void wake(Line& line);
  // Drops lines that hold nothing and mean nothing any more.
  void sweep();
  void keep_lines(bool keep) { keep_lines_ = keep; }

  // Takes what may be published now, marks it in flight and returns it in order. A delivery whose destination is closed
  // is handed to `stopped` (which may remove it or its line's) unless the sink has that destination only; and so is the
  // first of a line that has a doom.
  std::vector<Publication> select(SteadyTime now, const std::function<void(Delivery&)>& stopped);
  // It came back without being delivered, and will be tried again in its place.
  void reclaim(Delivery& delivery);
  // It is in flight no more: before remove() or reclaim().
  void landed(Delivery& delivery);

  SteadyTime next_wake(SteadyTime now) const;

  Breaker& breaker() { return breaker_; }
  const Breaker& breaker() const { return breaker_; }
  std::size_t in_flight() const { return in_flight_ + strays_.size(); }
  std::size_t size() const { return size_; }
  std::size_t loaded() const { return loaded_; }  // of them, those that came from the side table
  // True if the first of some key was never handed over and has not failed before: it can still tell whether its
  // destination is well.
  bool has_untried_key() const;
  // Lines with deliveries of the stream of which nothing is in flight or on its way to the side table, oldest first.
  std::vector<Line*> lines_at_rest();
  void reverse(Line& line);  // a broken variant's
  // The destinations that get nothing but a probe at most, of a sink that has several.
  struct Held {
    std::size_t count = 0;
    std::size_t of = 0;  // all that are known
    std::string reason;  // why one of them is
  };
  Held held_destinations(SteadyTime now) const;
  std::vector<std::string> keys_with_parked() const;

  // A dead client: nothing is published until it is rebuilt; then `cautious` messages go one by one.
  bool client_down = false;
  std::size_t cautious = 0;

 private:
  struct Stray {
    std::string key;
    std::size_t bytes = 0;
  };
  Delivery& new_delivery(Line& line, RecordPtr record, const Route& route, const std::string& address);
  Destination& destination(const std::string& name);
  void drop_idle_destinations();
  Delivery* next_of(const Line& line) const;
  bool room_for(const Record& record) const;
  Line* better_probe(const Line& line, const Delivery& delivery, SteadyTime now) const;
  void pop_ready();
  void wake_delayed(SteadyTime now);
  void release_retries(SteadyTime now);
  void await_token(Line& line);
  void list_if_idle(Line& line);
  Publication depart(Delivery& delivery, SteadyTime now);

  Capabilities capabilities_;
  BreakerPolicy breaker_policy_;
  bool single_destination_;
  Breaker breaker_;
  RetryBudget budget_;
  SteadyTime selected_at_{};  // last select()

  std::deque<Delivery> slab_;
  std::vector<std::uint32_t> free_;
  std::uint64_t serial_ = 0;
  using Lines = std::unordered_map<std::string, Line>;
  Lines lines_;
  std::vector<Lines::node_type> spare_lines_;  // with many keys a line lives for one message; making it anew is dear
  std::unordered_map<std::string, std::unique_ptr<Destination>> destinations_;
  std::deque<Line*> ready_;
  std::set<std::pair<SteadyTime, Line*>> delayed_;
  std::deque<Line*> awaiting_token_;  // their next one is a retry, and the budget had nothing left
  std::vector<Line*> maybe_idle_;
  std::unordered_map<DeliveryId, Stray> strays_;  // in flight since an earlier life
  std::unordered_map<std::string, std::size_t> stray_keys_;
  bool keep_lines_ = false;
  std::size_t size_ = 0;
  std::size_t loaded_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t in_flight_bytes_ = 0;
};

}  // namespace outbox
