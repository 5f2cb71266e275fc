// The sink conformance suite: what sink/sink.h promises, tried on every sink against a real far end. A sink's test
// program links outbox_sink_conformance and instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(File, SinkConformance, testing::Values(BenchType{"file", make_file_bench}), bench_name);
//
// What a far end cannot do, its bench leaves out (the defaults below); the test then ends, and its record says so. That
// is no skip: nothing is missing on the machine.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sink/sink.h"
#include "support/completion_log.h"

namespace outbox::test {

// What the far end holds, in its own order.
struct Arrival {
  std::string id;
  std::string key;  // the aggregate id
  std::string payload;
};

// A far end and how to reach it. One per test; the sink is closed before it goes away.
class SinkBench {
 public:
  virtual ~SinkBench() = default;

  // A sink for this far end, not open yet. Called once or twice per test.
  virtual std::unique_ptr<Sink> make_sink() = 0;
  virtual std::string destination() const = 0;
  // All that has come to destination(), repeats included.
  virtual std::vector<Arrival> arrived() = 0;

  // Makes the far end refuse this message for good, or returns false.
  virtual bool poison(Record&) { return false; }
  // Makes the message too large for the far end, or returns false.
  virtual bool outgrow(Record&) { return false; }
  // A destination of the same sink that fails for reasons of its own; empty: there is none.
  virtual std::string broken_destination() { return {}; }
  // The far end is away until come_up(), or false.
  virtual bool go_down() { return false; }
  virtual void come_up() {}
  // The far end takes messages and confirms none until let_go(), or false.
  virtual bool hold() { return false; }
  virtual void let_go() {}
  // From now on only the count matters; arrived() need not hold any of it. For the test of memory.
  virtual void forget_arrivals() {}
  // How many messages the test of memory sends, and by how much the process may grow over them.
  virtual std::size_t memory_messages() const { return 200'000; }
  virtual std::size_t memory_growth() const { return 32u << 20; }
};

struct BenchType {
  std::string name;
  std::function<std::unique_ptr<SinkBench>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const BenchType& type) { return out << type.name; }
// For INSTANTIATE_TEST_SUITE_P.
inline std::string bench_name(const testing::TestParamInfo<BenchType>& type) { return type.param.name; }

class SinkConformance : public testing::TestWithParam<BenchType> {
 protected:
  void SetUp() override;
  void TearDown() override;

  void not_applicable(const std::string& why);
  // The message number `number` of a key, payload {"n":number}.
  static RecordPtr message(int number, const std::string& key);
  DeliveryId publish(RecordPtr record, const std::string& destination = {});
  // In one call.
  std::vector<DeliveryId> publish_all(const std::vector<RecordPtr>& records);
  std::vector<std::string> arrived_of(const std::string& key);

  std::unique_ptr<SinkBench> bench_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

}  // namespace outbox::test
