#include "sink/file/batch_writer.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sink/file/json_line.h"
#include "sink/file/shut_keys.h"

namespace outbox::file {
namespace {

constexpr std::size_t kOpenFiles = 64;
constexpr std::size_t kBufferBytes = 256 * 1024;

}  // namespace

std::size_t BatchWriter::fitting(const std::deque<Publication>& queue) {
  std::set<std::string_view> destinations;
  std::string_view last;
  std::size_t count = 0;
  for (const auto& each : queue) {
    if (each.destination != last) {
      destinations.insert(each.destination);
      last = each.destination;
    }
    if (destinations.size() > kOpenFiles) break;
    ++count;
  }
  return count;
}

BatchWriter::Result BatchWriter::write(const std::vector<Publication>& batch) {
  failed_ = false;
  if (outputs_.size() >= kOpenFiles) outputs_.clear();
  Result result;
  result.completions.resize(batch.size());
  for (std::size_t i = 0; i < batch.size() && !failed_; ++i) add(batch[i], result.completions[i]);
  finish();
  result.written = !failed_;
  if (failed_) {
    const auto failed =
        std::find_if(outputs_.begin(), outputs_.end(), [](const auto& each) { return each.second.fault; });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Completion& completion = result.completions[i];
      completion.id = batch[i].id;
      if (completion.outcome.verdict == Verdict::rejected) continue;
      const Outcome& why = *failed->second.fault;
      completion.outcome = shared(why, failed->first, batch[i].destination) ? why : behind_failed();
    }
    outputs_.clear();
  }
  return result;
}

void BatchWriter::add(const Publication& publication, Completion& completion) {
  completion.id = publication.id;
  auto found = outputs_.find(publication.destination);
  if (found == outputs_.end()) {
    found = outputs_.emplace(publication.destination, Output{}).first;
    found->second.lines = open_output_(publication.destination, stop_);
  }
  Output& output = found->second;
  if (!output.in_batch) begin(output);
  if (failed_) return;

  const std::uint64_t at = output.lines->offset() + output.written + output.buffer.size();
  if (auto line = append_json_line(*publication.record, output.buffer); !line) {
    completion.outcome = rejected("bad_headers", line.failure().what);
    return;
  }
  completion.outcome = delivered(publication.destination + "@" + std::to_string(at));
  if (output.buffer.size() >= kBufferBytes) flush(output);
}

void BatchWriter::begin(Output& output) {
  output.in_batch = true;
  output.written = 0;
  output.fault = output.lines->begin();
  failed_ = output.fault.has_value();
}

void BatchWriter::flush(Output& output) {
  output.fault = output.lines->write(output.buffer);
  failed_ = output.fault.has_value();
  output.written += output.buffer.size();
  output.buffer.clear();
}

// Everything is written before anything is synced, so that a full disk is found before the first sync.
void BatchWriter::finish() {
  for (auto& [name, output] : outputs_) {
    if (output.in_batch && !failed_ && !output.buffer.empty()) flush(output);
  }
  for (auto& [name, output] : outputs_) {
    if (!output.in_batch || failed_) continue;
    output.fault = output.lines->sync();
    failed_ = output.fault.has_value();
  }
  for (auto& [name, output] : outputs_) {
    if (!output.in_batch) continue;
    if (failed_) output.lines->roll_back();
    output.in_batch = false;
  }
}

}  // namespace outbox::file
