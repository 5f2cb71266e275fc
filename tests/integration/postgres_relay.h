// What a relay does with a PostgreSQL outbox, without sinks: it takes over, reads, settles each page, and may die.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "source/poll/table_shape.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {

// Throw std::runtime_error with the failure's text.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.failure().what);
  return std::move(*result);
}
inline void must(Result<void> result) {
  if (!result) throw std::runtime_error(result.failure().what);
}

class PostgresRelay {
 public:
  PostgresRelay(std::string url, const TableMapping& mapping, std::string sink = "events", bool from_beginning = true);

  // Takes over and opens the source where the stored position says: as after a crash.
  void start();
  // One page, settled unless `settled` is false. Returns what came.
  std::vector<RecordPtr> step(std::size_t max_records, bool settled = true, std::size_t max_bytes = 4u << 20);
  // Steps until a page comes back empty.
  std::vector<RecordPtr> drain(std::size_t max_records = 1000, std::size_t max_bytes = 4u << 20);

  const TableShape& shape() const { return shape_; }
  Store& store() { return *store_; }
  Source& source() { return *source_; }
  const Feed& feed() const { return feed_; }
  const FeedState& state() const { return state_; }
  void settle(const SettleBatch& batch) { must(store_->settle(feed_, state_.epoch, batch)); }

 private:
  const std::string url_;
  TableShape shape_;
  Feed feed_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Source> source_;
  FeedState state_;
};

std::vector<std::string> ids_of(const std::vector<RecordPtr>& records);

// A test that runs on both servers; `database` is fresh, with our tables in it unless `bare`.
class PostgresTest : public testing::TestWithParam<Service> {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, GetParam());
    database_ = std::make_unique<PostgresDatabase>(server);
  }

  void init() { must(init_postgres(database_->url(), {})); }
  std::string url() const { return database_->url(); }
  std::string send(const std::string& aggregate_id, const std::string& payload = "{}") {
    return *database_->query("select outbox_send('order', $1, 'Confirmed', $2)", {aggregate_id, payload}).at(0).at(0);
  }

  std::unique_ptr<PostgresDatabase> database_;
};

inline std::string server_name(const testing::TestParamInfo<Service>& info) {
  return info.param == Service::postgresql ? "debian" : "newest";
}

inline auto both_servers() { return testing::Values(Service::postgresql, Service::postgresql_newest); }

}  // namespace outbox::test
