// MemoryOutbox: an outbox table and its store in memory, for tests of what stands above them. It keeps the contracts of
// store/store.h and source/source.h, and outlives the Store and Source objects that it hands out: a relay that crashes
// is one whose Store and Source are dropped.
//
// Thread: any; one lock.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "source/source.h"
#include "store/store.h"

namespace outbox::test {

class MemoryOutbox {
 public:
  MemoryOutbox();

  // A committed message; seq is given here, key is made of its parts, created_at is now() unless given. Returns seq.
  std::int64_t insert(Record record);

  // The database's clock: the machine's, plus what advance() has added.
  Time now() const;
  void advance(Duration by);

  // Asked before every call of a Store ("take_over", "settle", …) or Source ("open", "fetch"); a Failure it returns is
  // the call's, and nothing is done.
  using Fault = std::function<Result<void>(const std::string& call)>;
  void set_fault(Fault fault);

  std::unique_ptr<Store> store();
  // `positions`: as a table that is followed by position; otherwise rows are marked by settle, and come again until
  // then.
  std::unique_ptr<Source> source(bool positions = true);

  // What the tables hold.
  std::size_t rows() const;
  std::size_t unsettled(const std::string& sink) const;  // rows behind its position, or unmarked ("*")
  Position position(const std::string& sink) const;
  struct ParkedRow {
    std::int64_t row = 0;
    std::int64_t ord = 0;
    std::string state;  // waiting, dead, done
    Time died_at{};     // for dead
    Park park;
    Time parked_at{};  // for one that has failed: the first time
    int replays = 0;
  };
  std::vector<ParkedRow> parked(const std::string& sink) const;

  // As an operator does: waiting or dead → done; dead → waiting, due now.
  void discard(std::int64_t row);
  void requeue(std::int64_t row);
  void set_pauses(std::vector<SinkPause> pauses);

 private:
  struct State;
  friend class MemoryStore;
  friend class MemorySource;

  std::shared_ptr<State> state_;
};

}  // namespace outbox::test
