#include "database.h"

#include <algorithm>
#include <sstream>

#include "sim_leases.h"

namespace outbox::sim {

bool Snapshot::sees(std::uint64_t xid) const {
  if (xid < xmin) return true;
  if (xid >= xmax) return false;
  return std::find(in_progress.begin(), in_progress.end(), xid) == in_progress.end();
}

Database::Database(Scenario scenario, Loop& loop, Trace& trace, Dice& dice)
    : scenario_(std::move(scenario)), loop_(loop), trace_(trace), dice_(dice) {}

void Database::start_writers() {
  to_come_ = scenario_.transactions;
  for (int i = 0; i < scenario_.transactions; ++i) {
    loop_.after(dice_.between(Duration(0), scenario_.chaos), [this] { begin(); });
  }
}

void Database::begin() {
  // SQLite has one writer: the next one waits.
  if (scenario_.mode == Mode::cursor && !open_.empty()) {
    loop_.after(5ms, [this] { begin(); });
    return;
  }
  --to_come_;
  const int name = begun_++;
  auto& transaction = open_[name];
  if (dice_.chance(scenario_.takes_xid_early)) transaction.xid = take_xid();
  loop_.after(dice_.between(Duration(0), Duration(30ms)),
              [this, name, left = dice_.between(1, scenario_.messages_max)] { insert(name, left); });
}

void Database::insert(int name, int left) {
  auto& transaction = open_.at(name);
  const int number = dice_.between(0, scenario_.keys - 1);
  const auto& type = scenario_.types[static_cast<std::size_t>(number) % scenario_.types.size()];
  const std::string aggregate = "k" + std::to_string(number);
  const std::string key = make_key(type, aggregate);
  // Who finds the aggregate locked does without it: nobody waits, so nobody deadlocks.
  if (transaction.locks.contains(key) || locked_.insert(key).second) {
    transaction.locks.insert(key);
    add_message(transaction, type, aggregate, false);
  }
  if (left > 1) {
    loop_.after(dice_.between(Duration(0), Duration(10ms)), [this, name, left] { insert(name, left - 1); });
    return;
  }
  const bool commit = !dice_.chance(scenario_.rolls_back);
  const bool late = dice_.chance(scenario_.stays_open);
  const Duration rest = late ? dice_.between(Duration(50ms), Duration(3s)) : dice_.between(Duration(0), Duration(5ms));
  loop_.after(rest, [this, name, commit] { end(name, commit); });
}

void Database::add_message(Transaction& transaction, const std::string& type, const std::string& aggregate, bool good) {
  if (transaction.xid == 0) transaction.xid = take_xid();
  Message m;
  m.index = static_cast<int>(messages_.size());
  m.id = "m" + std::to_string(m.index);
  m.type = type;
  m.aggregate = aggregate;
  m.key = make_key(type, aggregate);
  m.lane = lane_of(m.key);
  m.n = ++counters_[m.key];
  m.seq = next_seq_++;
  m.xid = transaction.xid;
  m.created_at = loop_.now();
  if (scenario_.refused > 0 && !good) m.refused = dice_.chance(scenario_.refused);
  if (!good) {
    if (dice_.chance(scenario_.poison)) m.kind = MessageKind::rejected;
    if (dice_.chance(scenario_.always_500)) m.kind = MessageKind::always_500;
    if (dice_.chance(scenario_.too_large)) m.kind = MessageKind::too_large;
    if (dice_.chance(scenario_.not_due)) {
      m.not_before = now() + dice_.between(Duration(100ms), Duration(4s));
    }
  }
  trace_("db      insert {} {}#{} seq {} xid {}{}", m.id, m.key, m.n, m.seq, m.xid,
         m.kind == MessageKind::good         ? ""
         : m.kind == MessageKind::rejected   ? " (poison: rejected)"
         : m.kind == MessageKind::always_500 ? " (poison: always 500)"
                                             : " (too large)");
  transaction.messages.push_back(m.index);
  messages_.push_back(std::move(m));
}

void Database::end(int name, bool commit) {
  Transaction transaction = std::move(open_.at(name));
  open_.erase(name);
  for (auto each = transaction.messages.rbegin(); each != transaction.messages.rend(); ++each) {
    auto& message = messages_[static_cast<std::size_t>(*each)];
    message.committed = commit;
    message.rolled_back = !commit;
    if (!commit) --counters_[message.key];
  }
  if (transaction.xid != 0) finish_xid(transaction.xid);
  for (const auto& key : transaction.locks) locked_.erase(key);
  if (!transaction.messages.empty()) trace_("db      {} xid {}", commit ? "commit" : "rollback", transaction.xid);
}

void Database::write_trickle() {
  if (scenario_.mode == Mode::cursor && !open_.empty()) return;
  const std::string aggregate = "x" + std::to_string(trickles_++);
  const int name = begun_++;
  auto& transaction = open_[name];
  for (const auto& type : scenario_.types) {
    if (type.front() == 't') add_message(transaction, type, aggregate, true);
  }
  end(name, true);
}

bool Database::truncate() {
  for (const auto& [name, transaction] : open_) {
    if (!transaction.messages.empty()) return false;
  }
  for (auto& message : messages_) {
    if (message.committed && !message.removed) message.removed = message.truncated = true;
  }
  // What is settled ahead has numbers near the last ones.
  next_seq_ = std::max<std::int64_t>(1, next_seq_ - dice_.between(1, 20));
  trace_("db      truncate, numbers from {}", next_seq_);
  return true;
}

std::uint64_t Database::take_xid() {
  running_.insert(next_xid_);
  return next_xid_++;
}

void Database::finish_xid(std::uint64_t xid) {
  running_.erase(xid);
  latest_finished_ = std::max(latest_finished_, xid);
}

void Database::set_clock(Duration forward) {
  trace_("db      the clock is set: {} s ahead", forward.count() / 1'000'000);
  set_forward_ = forward;
}

std::string Database::snapshot() const {
  const std::uint64_t xmax = latest_finished_ + 1;
  std::string list;
  std::uint64_t xmin = xmax;
  for (const auto xid : running_) {
    if (xid >= xmax) break;
    xmin = std::min(xmin, xid);
    list += (list.empty() ? "" : ",") + std::to_string(xid);
  }
  return std::to_string(xmin) + ":" + std::to_string(xmax) + ":" + list;
}

const Snapshot& Database::parse(const std::string& text) const {
  const auto known = parsed_.find(text);
  if (known != parsed_.end()) return known->second;
  Snapshot snapshot;
  std::istringstream in(text);
  char separator = 0;
  in >> snapshot.xmin >> separator >> snapshot.xmax >> separator;
  for (std::uint64_t xid = 0; in >> xid; in >> separator) snapshot.in_progress.push_back(xid);
  return parsed_.emplace(text, std::move(snapshot)).first->second;
}

bool Database::covered(const Message& message, const Position& position) const {
  const RowRef row{message.seq, scenario_.mode == Mode::snapshot ? message.xid : 0};
  const bool in_ahead = std::find(position.ahead.begin(), position.ahead.end(), row) != position.ahead.end();
  if (in_ahead) return true;
  if (scenario_.mode == Mode::cursor) return message.seq <= position.seq;
  if (parse(position.from).sees(message.xid)) return true;
  return !position.to.empty() && parse(position.to).sees(message.xid) && message.seq <= position.seq;
}

}  // namespace outbox::sim
