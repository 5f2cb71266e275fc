#include "store/sqlite/places.h"

#include <charconv>

#include "db/sqlite_table.h"

namespace outbox {
namespace {

// Seqs alone say which rows: with AUTOINCREMENT no number is given out twice. Where a table has not that, the position
// itself would pass over such a row; it is warned of when the table is opened. A JSON array, so that SQLite's json_each
// reads it, too.
std::string write_ahead_set(const std::vector<RowRef>& ahead) {
  std::string text = "[";
  for (const RowRef& row : ahead) text.append(text.size() > 1 ? "," : "").append(std::to_string(row.seq));
  return text + "]";
}

std::vector<RowRef> read_ahead_set(std::string_view text) {
  std::vector<RowRef> ahead;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t seq = 0;
    const auto [next, error] = std::from_chars(at, end, seq);
    if (error == std::errc{}) ahead.push_back({seq, 0});
    at = error == std::errc{} ? next : at + 1;
  }
  return ahead;
}

constexpr const char* kStart = "start:";

}  // namespace

Result<std::optional<Place>> Places::find(const std::string& sink) {
  auto rows = state_.query(
      db::with_prefix("SELECT epoch, seq, ahead, message_id FROM outbox_position WHERE sink = ?", prefix_), {sink});
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  if (!*row) return std::optional<Place>{};
  Place place;
  place.epoch = static_cast<std::uint64_t>(rows->integer(0));
  place.position.seq = rows->integer(1);
  place.position.ahead = read_ahead_set(rows->text(2));
  if (!rows->null(3)) place.message_id = std::string(rows->text(3));
  return std::optional{std::move(place)};
}

Result<void> Places::take(const std::string& sink, const std::string& relay, const Place& place, Time now) {
  auto taken = state_.run(
      db::with_prefix("INSERT INTO outbox_position (sink, epoch, relay, seq, message_id, ahead, updated_at) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (sink) DO UPDATE SET epoch = ?2, relay = ?3, "
                      "seq = ?4, message_id = ?5, ahead = ?6, updated_at = ?7",
                      prefix_),
      {sink, static_cast<std::int64_t>(place.epoch), relay, place.position.seq, place.message_id,
       write_ahead_set(place.position.ahead), now});
  if (!taken) return taken.failure();
  return {};
}

Result<bool> Places::move(const std::string& sink, std::uint64_t epoch, const Position& position,
                          const std::optional<std::string>& message_id, Time now) {
  auto moved = state_.run(
      db::with_prefix("UPDATE outbox_position SET seq = ?, message_id = ?, ahead = ?, updated_at = ? "
                      "WHERE sink = ? AND epoch = ?",
                      prefix_),
      {position.seq, message_id, write_ahead_set(position.ahead), now, sink, static_cast<std::int64_t>(epoch)});
  if (!moved) return moved.failure();
  return *moved == 1;
}

Result<bool> Places::owns(const std::string& sink, std::uint64_t epoch) {
  auto found = state_.integer(db::with_prefix("SELECT 1 FROM outbox_position WHERE sink = ? AND epoch = ?", prefix_),
                              {sink, static_cast<std::int64_t>(epoch)});
  if (!found) return found.failure();
  return found->has_value();
}

Result<void> Places::note_start(const std::string& sink, std::int64_t seq) {
  auto noted = state_.run(
      db::with_prefix("INSERT INTO outbox_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "
                      "excluded.value",
                      prefix_),
      {kStart + sink, std::to_string(seq)});
  if (!noted) return noted.failure();
  return {};
}

Result<void> Places::forget_start(const std::string& sink) {
  auto gone = state_.run(db::with_prefix("DELETE FROM outbox_meta WHERE name = ?", prefix_), {kStart + sink});
  if (!gone) return gone.failure();
  return {};
}

Result<std::int64_t> Places::start_of(const std::string& sink) {
  auto seq = state_.integer(db::with_prefix("SELECT CAST(value AS INTEGER) FROM outbox_meta WHERE name = ?", prefix_),
                            {kStart + sink});
  if (!seq) return seq.failure();
  return seq->value_or(0);
}

}  // namespace outbox
