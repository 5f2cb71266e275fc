#include <stdexcept>

#include "conformance/forwarding_conformance.h"
#include "db/sqlite.h"
#include "source/poll/sqlite_source.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_forwarding.h"
#include "store/sqlite/sqlite_operator.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

class SqliteBench : public StoreBench {
 public:
  SqliteBench() : file_(folder_.file("shop.db")) {
    auto made = init_sqlite(file_, {});
    if (!made) throw std::runtime_error(made.failure().what);
    application_.emplace(std::move(*db::Sqlite::open(file_, db::Sqlite::Mode::write)));
    source_ = make_sqlite_source("sqlite:" + file_, {});
    if (auto opened = source_->open({}); !opened) throw std::runtime_error(opened.failure().what);
  }

  std::unique_ptr<Store> make_store() override { return make_sqlite_store("sqlite:" + file_, {}); }
  std::unique_ptr<OperatorStore> make_operator() override { return make_sqlite_operator("sqlite:" + file_, {}); }
  std::unique_ptr<ForwardingStore> make_forwarding() override { return make_sqlite_forwarding("sqlite:" + file_, {}); }

  RecordPtr insert(const std::string& aggregate_id) override {
    auto done = application_->run(
        "INSERT INTO outbox (aggregatetype, aggregateid, type, payload) VALUES ('order', ?, 'Confirmed', '{}')",
        {aggregate_id});
    auto page = source_->fetch(10, 1 << 20);
    if (!done || !page || page->records.size() != 1) throw std::runtime_error("the message cannot be read");
    return page->records[0];
  }

  Position after_all() override {
    return {"", "", **application_->integer("SELECT coalesce(max(seq), 0) FROM outbox"), {}};
  }

  std::int64_t rows() override { return **application_->integer("SELECT count(*) FROM outbox"); }

 private:
  TempDir folder_;
  std::string file_;
  std::optional<db::Sqlite> application_;
  std::unique_ptr<Source> source_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance,
                         testing::Values(StoreType{"sqlite",
                                                   [](std::string&) { return std::make_unique<SqliteBench>(); }}),
                         store_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, OperatorConformance,
                         testing::Values(StoreType{"sqlite",
                                                   [](std::string&) { return std::make_unique<SqliteBench>(); }}),
                         store_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, ForwardingConformance,
                         testing::Values(StoreType{"sqlite",
                                                   [](std::string&) { return std::make_unique<SqliteBench>(); }}),
                         store_name);

}  // namespace
}  // namespace outbox::test
