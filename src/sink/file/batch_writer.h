// BatchWriter: puts one batch of publications into its outputs, all or nothing. Thread: one caller.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sink/file/line_sink.h"

namespace outbox::file {

class BatchWriter {
 public:
  BatchWriter(const OpenOutput& open_output, const Waker& stop) : open_output_(open_output), stop_(stop) {}

  // How many publications from the front of the queue make one batch: bounded in files that are open at once.
  static std::size_t fitting(const std::deque<Publication>& queue);

  struct Result {
    bool written = true;  // false: nothing of the batch is in any output
    std::vector<Completion> completions;
  };
  // If an output fails, its messages get its fault, and so do all of the batch if it is the whole sink's; others get
  // client_dead. Those whose headers cannot be written are rejected in any case.
  Result write(const std::vector<Publication>& batch);

 private:
  struct Output {
    std::unique_ptr<LineOutput> lines;
    std::string buffer;         // serialised, not written yet
    std::uint64_t written = 0;  // of this batch
    bool in_batch = false;
    Fault fault;
  };

  void add(const Publication& publication, Completion& completion);
  void begin(Output& output);
  void flush(Output& output);
  void finish();

  const OpenOutput& open_output_;
  const Waker& stop_;
  std::map<std::string, Output, std::less<>> outputs_;
  bool failed_ = false;
};

}  // namespace outbox::file
