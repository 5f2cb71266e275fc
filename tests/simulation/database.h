// Database: the application's side of the simulated world. Transactions take row locks, draw numbers, commit late or
// roll back; snapshots see exactly what had committed. The ledger (key, n) is the truth that the checker reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dice.h"
#include "loop.h"
#include "model/position.h"
#include "model/record.h"
#include "scenario.h"
#include "trace.h"

namespace outbox::sim {

enum class MessageKind { good, rejected, always_500, too_large };

struct Message {
  int index = 0;
  std::string id;  // "m17"
  std::string type;
  std::string aggregate;
  std::string key;
  int lane = 0;
  int n = 0;  // place among the messages of its key, counted under the aggregate's lock
  std::int64_t seq = 0;
  std::uint64_t xid = 0;
  MessageKind kind = MessageKind::good;
  std::optional<Time> not_before;
  Time created_at{};
  bool committed = false;
  bool rolled_back = false;
  bool marked = false;   // mark mode
  bool removed = false;  // by retention, or truncated
  bool truncated = false;
  bool refused = false;  // the store takes nothing about it until the world heals
};

// As PostgreSQL writes it: xmin:xmax:xip,xip. What is below xmax and not in progress is visible.
struct Snapshot {
  std::uint64_t xmin = 1;
  std::uint64_t xmax = 1;
  std::vector<std::uint64_t> in_progress;

  bool sees(std::uint64_t xid) const;
};
inline const std::string kSeesNothing = "1:1:";

class Database {
 public:
  Database(Scenario scenario, Loop& loop, Trace& trace, Dice& dice);

  // Spreads the scenario's transactions over the chaos phase.
  void start_writers();
  // One good message for every routed destination, on keys of their own, committed at once.
  void write_trickle();
  // No transaction is open and none is to come.
  bool quiet() const { return open_.empty() && to_come_ == 0; }

  // TRUNCATE … RESTART IDENTITY, but for where the numbering starts again. Waits for nobody: false while a transaction
  // has rows there.
  bool truncate();

  // Its clock, which may be set.
  Time now() const { return loop_.now() + set_forward_; }
  void set_clock(Duration forward);

  std::string snapshot() const;
  const Snapshot& parse(const std::string& text) const;

  // True if `position` says that the message is settled. Snapshot and cursor mode.
  bool covered(const Message& message, const Position& position) const;

  std::vector<Message>& messages() { return messages_; }
  const std::vector<Message>& messages() const { return messages_; }
  Message& message(const std::string& id) { return messages_[std::stoul(id.substr(1))]; }

 private:
  struct Transaction {
    std::uint64_t xid = 0;  // 0: none taken yet
    std::vector<int> messages;
    std::set<std::string> locks;
  };

  void begin();
  void insert(int transaction, int left);
  void add_message(Transaction& transaction, const std::string& type, const std::string& aggregate, bool good);
  void end(int transaction, bool commit);
  std::uint64_t take_xid();
  void finish_xid(std::uint64_t xid);

  const Scenario scenario_;
  Loop& loop_;
  Trace& trace_;
  Dice& dice_;
  std::vector<Message> messages_;
  std::map<std::string, int> counters_;  // key → n, as the lock's holder sees it
  std::set<std::string> locked_;
  std::map<int, Transaction> open_;
  Duration set_forward_{0};
  int begun_ = 0;
  int to_come_ = 0;
  int trickles_ = 0;
  std::int64_t next_seq_ = 1;
  std::uint64_t next_xid_ = 3;
  std::uint64_t latest_finished_ = 2;
  std::set<std::uint64_t> running_;
  mutable std::map<std::string, Snapshot> parsed_;
};

}  // namespace outbox::sim
