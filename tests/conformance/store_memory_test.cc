// The store in memory that tests of the runner use keeps the same promises.
#include "conformance/store_conformance.h"
#include "support/memory_outbox.h"

namespace outbox::test {
namespace {

class MemoryBench : public StoreBench {
 public:
  MemoryBench() : source_(outbox_.source()) { static_cast<void>(source_->open({})); }

  std::unique_ptr<Store> make_store() override { return outbox_.store(); }

  RecordPtr insert(const std::string& aggregate_id) override {
    Record record;
    record.id = "m" + std::to_string(++inserted_);
    record.aggregate_type = "order";
    record.aggregate_id = aggregate_id;
    record.type = "Confirmed";
    record.payload = "{}";
    outbox_.insert(std::move(record));
    return source_->fetch(10, 1 << 20)->records.at(0);
  }

  Position after_all() override { return {"", "", inserted_, {}}; }

  std::int64_t rows() override { return static_cast<std::int64_t>(outbox_.rows()); }

 private:
  MemoryOutbox outbox_;
  std::unique_ptr<Source> source_;
  std::int64_t inserted_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(StoreType{"memory",
                                                   [](std::string&) { return std::make_unique<MemoryBench>(); }}),
                         store_name);

}  // namespace
}  // namespace outbox::test
