// FakeSink: a Sink whose far end is a FakeBroker in memory, for tests of what stands above sinks, and the first
// subject of the conformance suite.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sink/sink.h"

namespace outbox::test {

// Thread-safe. Outlives the sinks that use it.
class FakeBroker {
 public:
  enum class Mode {
    up,
    down,  // nothing arrives; publications come back busy, scope sink
    hold,  // messages arrive when the mode changes
  };
  struct Arrival {
    std::string destination;
    RecordPtr record;
  };

  void set_mode(Mode mode);
  void refuse(const std::string& message_id);          // rejected, reason "refused"
  void hold(const std::string& message_id);            // no answer before the sink is closed
  void break_destination(const std::string& address);  // busy, scope destination
  void set_payload_max(std::size_t bytes);             // larger ones: rejected, reason "too_large"
  void keep_arrivals(bool keep);
  void fail_reopens(int count);  // the next ones
  std::vector<Arrival> arrivals() const;

 private:
  friend class FakeSink;
  // What becomes of one publication; waits while the mode is hold. Nothing if `stop` was set meanwhile.
  Outcome take(const Publication& publication, const bool& stop);
  bool takes_reopen();
  void wake();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mode mode_ = Mode::up;
  std::set<std::string> refused_;
  std::set<std::string> held_;
  std::set<std::string> broken_;
  std::size_t payload_max_ = 0;
  bool keeps_ = true;
  int failing_reopens_ = 0;
  std::vector<Arrival> arrivals_;
};

// Pipelines keys: whatever fails kills the client, so that nothing passes it.
std::unique_ptr<Sink> make_fake_sink(FakeBroker& broker);

}  // namespace outbox::test
