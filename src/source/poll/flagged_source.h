// FlaggedSource: reads a table that somebody else owns and that says by a mark, or by the row's presence, what is still
// to be sent.
//
// A keyset mark says where the next page starts; a sweep from the beginning, every few seconds, finds what committed
// below it. Where the mark is wrong it costs latency and the order within the row's key, never a message: a row that
// commits below the mark comes at the sweep, and one of its key that is written behind that may be read before.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "source/poll/poll_session.h"
#include "source/poll/table_shape.h"
#include "source/source.h"

namespace outbox {

class FlaggedSource : public Source {
 public:
  FlaggedSource(std::string url, const TableShape& shape);

  Result<void> open(const Position& start) override;
  Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) override;
  bool repeats() const override { return true; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Part { unordered, ordered };  // rows whose order column is NULL come first
  struct Mark {
    std::string order;
    std::string id;
  };

  void sweep();
  Result<void> tell_nameless();
  Result<Page> read(std::size_t max_records, std::size_t max_bytes);

  PollSession session_;
  bool payload_is_json_;
  bool has_order_;
  bool order_nullable_;
  std::string table_;
  std::string count_nameless_;  // SQL; empty where every row has an id
  Clock::time_point count_nameless_at_{};
  Part part_ = Part::ordered;
  std::optional<Mark> mark_;
  bool at_end_ = false;
  Clock::time_point swept_at_{};
  PageSize page_size_;
};

}  // namespace outbox
