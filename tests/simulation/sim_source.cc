#include "sim_source.h"

#include <algorithm>

#include "flaw.h"
#include "record.h"
#include "sim_leases.h"

namespace outbox::sim {

SimSource::SimSource(const Scenario& scenario, Database& database, Loop& loop, Dice& dice, Lanes lanes)
    : scenario_(scenario), database_(database), loop_(loop), dice_(dice), lanes_(lanes) {}

bool SimSource::concerns(const Message& message) const {
  return message.committed && !message.removed && holds(lanes_, message.lane);
}

Result<void> SimSource::open(const Position& start) {
  Position from = start;
  if (flawed(Flaw::window_taken_anew)) from.to = from.to.empty() ? "" : database_.snapshot();
  window_.start(from);
  cursor_ = start.seq;
  swept_.clear();
  return {};
}

Result<Page> SimSource::fetch(std::size_t max_records, std::size_t max_bytes) {
  Page page;
  page.database_now = database_.now();
  switch (scenario_.mode) {
    case Mode::snapshot: fetch_window(page, max_records, max_bytes); break;
    case Mode::cursor: fetch_cursor(page, max_records, max_bytes); break;
    case Mode::mark: fetch_sweep(page, max_records, max_bytes); break;
  }
  return page;
}

RecordPtr SimSource::read(const Message& message) {
  RecordPtr record = make_record(message, scenario_, {Origin::stream, loop_.step(), 1});
  ++held_->records;
  held_->bytes += record->bytes();
  // Counts until the last holder lets go, the sink's client included.
  const Record* address = record.get();
  return {address, [record = std::move(record), held = held_](const Record* gone) mutable {
            --held->records;
            held->bytes -= gone->bytes();
            record.reset();
          }};
}

std::vector<const Message*> SimSource::rows_of_window() const {
  const auto& from = database_.parse(window_.window().from);
  const auto& to = database_.parse(window_.window().to);
  std::vector<const Message*> rows;
  for (const auto& message : database_.messages()) {
    if (concerns(message) && !from.sees(message.xid) && to.sees(message.xid)) {
      rows.push_back(&message);
    }
  }
  return rows;  // messages stand in seq already
}

bool SimSource::open_window() {
  const auto rows = rows_of_window();
  if (rows.empty()) return window_.opened(std::nullopt);
  SnapshotWindow::Bounds bounds{rows.front()->seq - 1, rows.back()->seq, std::nullopt};
  const auto fresh = std::find_if(rows.begin(), rows.end(), [&](const Message* row) {
    return row->xid >= database_.parse(window_.window().from).xmax;
  });
  if (fresh != rows.end()) bounds.fresh_lo = (*fresh)->seq - 1;
  return window_.opened(bounds);
}

void SimSource::fetch_window(Page& page, std::size_t max_records, std::size_t max_bytes) {
  for (;;) {
    if (window_.next() == SnapshotWindow::Step::probe && !window_.probed(database_.snapshot())) return;
    if (window_.next() == SnapshotWindow::Step::open && !open_window()) continue;
    std::size_t bytes = 0;
    std::size_t read_rows = 0;
    std::int64_t last = window_.last();
    bool exhausted = true;
    page.window = window_.window();
    for (const Message* row : rows_of_window()) {
      if (row->seq <= window_.last()) continue;
      if (read_rows == max_records || (read_rows > 0 && bytes >= max_bytes)) {
        exhausted = false;
        break;
      }
      ++read_rows;
      last = row->seq;
      page.records.push_back(read(*row));
      bytes += page.records.back()->bytes();
    }
    page.window_done = window_.read(last, exhausted);
    page.full = !page.window_done;
    if (!page.records.empty() || page.window_done) return;
  }
}

void SimSource::fetch_cursor(Page& page, std::size_t max_records, std::size_t max_bytes) {
  std::size_t bytes = 0;
  for (const auto& message : database_.messages()) {
    if (!concerns(message) || message.seq <= cursor_) continue;
    if (page.records.size() == max_records || (!page.records.empty() && bytes >= max_bytes)) {
      page.full = true;
      break;
    }
    cursor_ = message.seq;
    page.records.push_back(read(message));
    bytes += page.records.back()->bytes();
  }
}

void SimSource::fetch_sweep(Page& page, std::size_t max_records, std::size_t max_bytes) {
  if (dice_.chance(0.1)) swept_.clear();
  std::size_t bytes = 0;
  for (const auto& message : database_.messages()) {
    if (!concerns(message) || message.marked || swept_.contains(message.index)) continue;
    if (page.records.size() == max_records || (!page.records.empty() && bytes >= max_bytes)) {
      page.full = true;
      break;
    }
    swept_.insert(message.index);
    page.records.push_back(read(message));
    bytes += page.records.back()->bytes();
  }
  if (page.records.empty()) swept_.clear();
}

}  // namespace outbox::sim
