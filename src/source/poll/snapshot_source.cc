#include "source/poll/snapshot_source.h"

#include "source/poll/record_columns.h"
#include "source/poll/snapshot_sql.h"

namespace outbox {

namespace {

constexpr int kBoundsColumns = 3;

// The indexes are right whatever the statistics say: one bulk load makes all xids look the same, and the generic plan
// then walks the table.
const std::vector<std::string> kIndexesOnly{"enable_seqscan = off", "enable_bitmapscan = off", "enable_hashjoin = off",
                                            "enable_mergejoin = off"};

SnapshotWindow::Bounds read_bounds(const db::PgRows& row) {
  SnapshotWindow::Bounds bounds;
  bounds.hi = db::pg_int64(row.bytes(0, 0));
  if (!row.null(0, 1)) bounds.fresh_lo = db::pg_int64(row.bytes(0, 1));
  bounds.lo = db::pg_int64(row.bytes(0, 2));
  return bounds;
}

}  // namespace

SnapshotSource::SnapshotSource(std::string url, const TableShape& shape, const Lanes& lanes)
    : session_(std::move(url), kIndexesOnly,
               {{"outbox_open", open_sql(shape, lanes)}, {"outbox_page", page_sql(shape, lanes)}}),
      payload_is_json_(shape.types.at("payload") != "bytea") {}

Result<void> SnapshotSource::open(const Position& start) {
  window_.start(start);
  return session_.open();
}

Result<Page> SnapshotSource::fetch(std::size_t max_records, std::size_t max_bytes) {
  // At most one more round: behind a resumed window of which nothing is left, or an empty one, there may be rows.
  for (;;) {
    const bool resumed = window_.next() == SnapshotWindow::Step::open;
    if (window_.next() == SnapshotWindow::Step::probe) {
      auto changed = probe();
      if (!changed) return changed.failure();
      if (!*changed) return Page{{}, {}, false, false, database_now()};
    }
    auto page = read(max_records, max_bytes);
    if (!page || !page->records.empty() || !resumed) return page;
  }
}

Result<bool> SnapshotSource::probe() {
  auto rows = session_.run(kProbeSql);
  if (!rows) return rows.failure();
  probed_at_ = std::chrono::steady_clock::now();
  probed_time_ = Time(Duration(rows->integer(0, 1)));
  return window_.probed(rows->text(0, 0));
}

// Carries out the window's `open` or `page` step. An empty page: nothing was left in the window.
Result<Page> SnapshotSource::read(std::size_t max_records, std::size_t max_bytes) {
  const bool opening = window_.next() == SnapshotWindow::Step::open;
  auto limit = page_size_.limit(max_records);
  Page page{{}, window_.window(), false, false, {}};
  Collected rows;
  for (;; limit *= 2) {
    auto whole = collect(limit, max_bytes, rows);
    if (!whole) return whole.failure();
    if (*whole) break;
  }
  rows.full_of_bytes ? page_size_.was_cut(rows.records.size()) : page_size_.was_whole();

  const bool resumed = window_.resumed();
  const bool rows_left = !opening || window_.opened(rows.bounds);
  const auto last = rows.records.empty() ? window_.last() : rows.records.back()->seq;
  page.window_done = !rows_left || window_.read(last, !rows.left);
  // Behind a resumed window lies all that was committed since it was cut.
  page.full = !page.window_done || resumed;
  page.records = std::move(rows.records);
  page.database_now = database_now();
  return page;
}

// Asks for one row more than the page may hold: it tells whether something is left. Rows of one seq stay together,
// since the next page begins behind a seq.
Result<bool> SnapshotSource::collect(std::size_t limit, std::size_t max_bytes, Collected& page) {
  const bool opening = window_.next() == SnapshotWindow::Step::open;
  db::PgValues values{window_.window().from, window_.window().to, std::to_string(limit + 1),
                      std::to_string(window_.last())};
  if (!opening) {
    values.push_back(std::to_string(window_.fresh_lo()));
    values.push_back(std::to_string(window_.hi()));
  }
  page = {};
  std::size_t rows = 0;
  auto streamed = session_.stream(opening ? "outbox_open" : "outbox_page", values, [&](const db::PgRows& row) {
    if (opening && !page.bounds) page.bounds = read_bounds(row);
    ++rows;
    RecordPtr record = read_record(row, opening ? kBoundsColumns : 0, payload_is_json_);
    const bool twin = !page.records.empty() && page.records.back()->seq == record->seq;
    page.full_of_bytes = page.bytes >= max_bytes;
    page.left = !twin && (page.full_of_bytes || page.records.size() == limit);
    if (page.left) return false;
    page.bytes += record->bytes();
    page.records.push_back(std::move(record));
    return true;
  });
  if (!streamed) return streamed.failure();
  return page.left || rows <= limit;
}

Time SnapshotSource::database_now() const {
  if (probed_time_ == Time{}) return {};
  return probed_time_ + std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - probed_at_);
}

}  // namespace outbox
