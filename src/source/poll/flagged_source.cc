#include "source/poll/flagged_source.h"

#include "base/log.h"
#include "db/postgres.h"
#include "source/poll/record_columns.h"

namespace outbox {

namespace {

// How long a row that committed below the mark may wait to be found: shorter when there is nothing else to read.
// Without an order column any new row may be below it.
constexpr std::chrono::milliseconds kSweepUnordered{200};
constexpr std::chrono::milliseconds kSweepIdle{2000};
constexpr std::chrono::milliseconds kSweepBusy{5000};

// How often rows without an id are counted, which reads the table.
constexpr std::chrono::seconds kNamelessEvery{60};

std::string unsent(const TableShape& shape) {
  return shape.table.sent == SentMode::mark ? column_of(shape, "published_at") + " is null" : "true";
}

// A row that cannot be named could be sent, but never marked: it would go out again at each sweep.
std::string named(const TableShape& shape) {
  const auto id = column_of(shape, "id");
  return "coalesce(" + id + "::text, '') <> ''";
}

std::string count_nameless_sql(const TableShape& shape) {
  return "select count(*) from " + db::pg_qualified(shape.table.table) + " t where " + unsent(shape) + " and not " +
         named(shape);
}

// What is still to be sent, in pages: record_columns(), the order and the id as text, the time. $1 number of rows;
// behind a mark: $2 its order, $3 its id (ordered part), or $2 its id.
std::string select_sql(const TableShape& shape, bool ordered_part, bool behind_mark) {
  const auto id = column_of(shape, "id");
  const auto order = column_of(shape, "order");
  const bool by_order = ordered_part && !order.empty();
  std::string where = unsent(shape);
  if (shape.id_missing) where += " and " + named(shape);
  if (!order.empty() && shape.order_nullable) where += " and " + order + (by_order ? " is not null" : " is null");
  if (behind_mark) where += by_order ? " and (" + order + ", " + id + ") > ($2, $3)" : " and " + id + " > $2";
  return "select " + record_columns(shape) + ", " + (by_order ? order + "::text" : "''::text") + " as m_order, now()" +
         " as m_now from " + db::pg_qualified(shape.table.table) + " t where " + where + " order by " +
         (by_order ? order + ", " : "") + id + " limit $1::int";
}

PollSession::Statements statements(const TableShape& shape) {
  PollSession::Statements result{{"outbox_first", select_sql(shape, true, false)},
                                 {"outbox_next", select_sql(shape, true, true)}};
  if (shape.order_nullable) {
    result.emplace("outbox_first_unordered", select_sql(shape, false, false));
    result.emplace("outbox_next_unordered", select_sql(shape, false, true));
  }
  return result;
}

}  // namespace

FlaggedSource::FlaggedSource(std::string url, const TableShape& shape)
    : session_(std::move(url), {}, statements(shape)),
      payload_is_json_(shape.types.at("payload") != "bytea"),
      has_order_(!shape.table.columns.at("order").empty()),
      order_nullable_(shape.order_nullable),
      table_(shape.table.table),
      count_nameless_(shape.id_missing ? count_nameless_sql(shape) : "") {}

Result<void> FlaggedSource::open(const Position&) {
  sweep();
  return session_.open();
}

void FlaggedSource::sweep() {
  mark_.reset();
  part_ = order_nullable_ ? Part::unordered : Part::ordered;
  at_end_ = false;
  swept_at_ = Clock::now();
}

Result<void> FlaggedSource::tell_nameless() {
  if (count_nameless_.empty() || Clock::now() < count_nameless_at_) return {};
  auto rows = session_.run(count_nameless_);
  if (!rows) return rows.failure();
  count_nameless_at_ = Clock::now() + kNamelessEvery;
  if (rows->integer(0, 0) == 0) return {};
  log::error("rows without an id are not sent: give each its own", {{"table", table_}, {"rows", rows->text(0, 0)}});
  return {};
}

Result<Page> FlaggedSource::fetch(std::size_t max_records, std::size_t max_bytes) {
  if (auto told = tell_nameless(); !told) return told.failure();
  const auto idle = has_order_ ? kSweepIdle : kSweepUnordered;
  if (Clock::now() - swept_at_ >= (at_end_ ? idle : kSweepBusy)) sweep();
  for (;;) {
    const bool first_part = part_ == Part::unordered;
    auto page = read(max_records, max_bytes);
    if (!page || !page->records.empty() || !first_part) return page;
  }
}

Result<Page> FlaggedSource::read(std::size_t max_records, std::size_t max_bytes) {
  const bool unordered = part_ == Part::unordered;
  const auto limit = page_size_.limit(max_records);
  db::PgValues values{std::to_string(limit)};
  if (mark_ && !unordered && has_order_) values.push_back(mark_->order);
  if (mark_) values.push_back(mark_->id);
  const std::string name = std::string(mark_ ? "outbox_next" : "outbox_first") + (unordered ? "_unordered" : "");
  Page page;
  PageRows rows;
  std::string order;
  auto streamed = session_.stream(name, values, [&](const db::PgRows& row) {
    order = row.text(0, kRecordColumns);
    page.database_now = db::pg_timestamp(row.bytes(0, kRecordColumns + 1));
    return rows.add(read_record(row, 0, payload_is_json_), max_bytes);
  });
  if (!streamed) return streamed.failure();
  rows.cut ? page_size_.was_cut(rows.records.size()) : page_size_.was_whole();
  if (!rows.records.empty()) mark_ = Mark{order, rows.records.back()->id};
  page.full = rows.cut || rows.records.size() == limit;
  at_end_ = !page.full && !unordered;
  if (!page.full && unordered) {
    mark_.reset();
    part_ = Part::ordered;
    page.full = true;
  }
  page.records = std::move(rows.records);
  return page;
}

}  // namespace outbox
