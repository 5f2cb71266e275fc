#include "conformance/forwarding_conformance.h"
#include "source/poll/table_shape.h"
#include "store/postgres/leases.h"
#include "store/postgres/postgres_forwarding.h"
#include "store/postgres/postgres_operator.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {
namespace {

class PostgresBench : public StoreBench {
 public:
  explicit PostgresBench(const std::string& server) : database_(server) {
    auto made = init_postgres(database_.url(), {});
    if (!made) throw std::runtime_error(made.failure().what);
    auto shape = inspect_postgres_table(database_.url(), {});
    if (!shape) throw std::runtime_error(shape.failure().what);
    shape_ = *shape;
    source_ = make_postgres_source(database_.url(), shape_);
    Position beginning;
    beginning.from = "3:3:";
    if (auto opened = source_->open(beginning); !opened) throw std::runtime_error(opened.failure().what);
  }

  std::unique_ptr<Store> make_store() override { return make_postgres_store(database_.url(), shape_.table); }
  void lease(const std::string& relay, const std::string& feed) override {
    auto renewed = make_postgres_leases(database_.url(), shape_.table)->renew(relay, "", {feed}, 1h);
    if (!renewed) throw std::runtime_error(renewed.failure().what);
  }
  std::unique_ptr<OperatorStore> make_operator() override {
    return make_postgres_operator(database_.url(), shape_.table);
  }

  std::unique_ptr<ForwardingStore> make_forwarding() override {
    return make_postgres_forwarding(database_.url(), shape_.table);
  }

  RecordPtr insert(const std::string& aggregate_id) override {
    database_.query("select outbox_send('order', $1, 'Confirmed', '{}')", {aggregate_id});
    auto page = source_->fetch(10, 1 << 20);
    if (!page || page->records.size() != 1) throw std::runtime_error("the message cannot be read");
    return page->records[0];
  }

  Position after_all() override {
    const auto row = database_.query("select pg_current_snapshot()::text, coalesce(max(seq), 0) from outbox").at(0);
    return {*row.at(0), "", std::stoll(*row.at(1)), {}};
  }

  std::int64_t rows() override { return std::stoll(database_.value("select count(*) from outbox")); }

 private:
  PostgresDatabase database_;
  TableShape shape_;
  std::unique_ptr<Source> source_;
};

StoreType on(const std::string& name, Service service) {
  return {name, [service](std::string& skipped) -> std::unique_ptr<StoreBench> {
            const auto server = find_service(service);
            if (server) return std::make_unique<PostgresBench>(*server);
            skipped = environment_variable(service) + " is not set: ./test starts the real service";
            return nullptr;
          }};
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreConformance,
                         testing::Values(on("debian", Service::postgresql), on("newest", Service::postgresql_newest)),
                         store_name);
INSTANTIATE_TEST_SUITE_P(Postgres, OperatorConformance,
                         testing::Values(on("debian", Service::postgresql), on("newest", Service::postgresql_newest)),
                         store_name);
INSTANTIATE_TEST_SUITE_P(Postgres, ForwardingConformance,
                         testing::Values(on("debian", Service::postgresql), on("newest", Service::postgresql_newest)),
                         store_name);

}  // namespace
}  // namespace outbox::test
