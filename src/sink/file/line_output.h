// LineOutput: where a batch of lines goes, all or nothing. A batch is begin(), write()s, sync(); after that its lines
// have survived a crash of the machine, as far as the output can promise that. If anything fails, roll_back() leaves
// the output as begin() found it: a reader never keeps half a line.
//
// Thread: one caller at a time. All of it may block on the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/outcome.h"
#include "sink/file/waker.h"

namespace outbox::file {

// What went wrong, as the sink reports it: `busy` with scope sink (disk full, input/output error) or destination
// (this path cannot be opened), or `unknown` because the sink is being closed. Empty: all is well.
using Fault = std::optional<Outcome>;

class LineOutput {
 public:
  virtual ~LineOutput() = default;
  virtual Fault begin() = 0;
  virtual Fault write(std::string_view lines) = 0;
  virtual Fault sync() = 0;
  virtual void roll_back() = 0;
  // Where the batch began, for receipts; 0 where the output has no offsets.
  virtual std::uint64_t offset() const = 0;
};

// Appends to a file, which is created if it is missing (mode 0640; its folder has to exist). The file may be renamed
// or deleted under it, as log rotation does: the next batch goes to a new one. Only one process and sink may write to
// a file at a time (flock). What a crash left of a last line is cut; a last line that is not ours is ended.
std::unique_ptr<LineOutput> open_file(std::string path);

// Writes to a descriptor that is open already and stays so: standard output. A pipe whose reader sleeps blocks write()
// until `waker` wakes it, which fails it.
std::unique_ptr<LineOutput> open_descriptor(int descriptor, std::string name, const Waker& waker);

}  // namespace outbox::file
