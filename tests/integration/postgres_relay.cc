#include "integration/postgres_relay.h"

#include "store/postgres/leases.h"

namespace outbox::test {

PostgresRelay::PostgresRelay(std::string url, const TableMapping& mapping, std::string sink, bool from_beginning)
    : url_(std::move(url)),
      shape_(must(inspect_postgres_table(url_, mapping))),
      store_(make_postgres_store(url_, shape_.table)),
      source_(make_postgres_source(url_, shape_)) {
  const bool positions = shape_.table.sent == SentMode::keep;
  feed_ = {positions ? sink : "*", {sink}, positions, from_beginning};
  start();
}

void PostgresRelay::start() {
  must(make_postgres_leases(url_, shape_.table)->renew("relay", "", {feed_.name}, 1h));
  state_ = must(store_->take_over(feed_, "relay"));
  must(source_->open(state_.start));
}

std::vector<RecordPtr> PostgresRelay::step(std::size_t max_records, bool settled, std::size_t max_bytes) {
  auto page = must(source_->fetch(max_records, max_bytes));
  if (page.records.empty() || !settled) return page.records;
  SettleBatch batch;
  if (feed_.positions) {
    batch.position = Position{page.window.from, page.window.to, page.records.back()->seq, {}};
    if (page.window_done) batch.position = Position{page.window.to, "", page.records.back()->seq, {}};
  } else {
    batch.settled = page.records;
  }
  settle(batch);
  return page.records;
}

std::vector<RecordPtr> PostgresRelay::drain(std::size_t max_records, std::size_t max_bytes) {
  std::vector<RecordPtr> all;
  for (;;) {
    const auto page = step(max_records, true, max_bytes);
    if (page.empty()) return all;
    all.insert(all.end(), page.begin(), page.end());
  }
}

std::vector<std::string> ids_of(const std::vector<RecordPtr>& records) {
  std::vector<std::string> ids;
  for (const auto& record : records) ids.push_back(record->id);
  return ids;
}

}  // namespace outbox::test
