#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "conformance/sink_conformance.h"
#include "sink/file/file_sink.h"
#include "sink/file/line_sink.h"
#include "support/json_lines.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

std::vector<Arrival> arrivals_in(const std::string& text) {
  std::vector<Arrival> all;
  for (const auto& line : parse_json_lines(text)) all.push_back({line.id, line.aggregate_id, line.payload});
  return all;
}

class FileBench : public SinkBench {
 public:
  FileBench() { come_up(); }

  std::unique_ptr<Sink> make_sink() override {
    const SinkType type = file_sink();
    return type.create("audit", config::parse_values(type.options, {{"path", destination()}})).value();
  }
  std::string destination() const override { return (folder() / "audit.jsonl").string(); }
  std::vector<Arrival> arrived() override { return arrivals_in(read_file(destination())); }

  bool poison(Record& record) override {
    record.headers = R"({"tenant":7})";
    return true;
  }
  std::string broken_destination() override { return (folder() / "missing" / "audit.jsonl").string(); }

  // The folder is away, as an unmounted file system is.
  bool go_down() override {
    std::filesystem::rename(folder(), away());
    return true;
  }
  void come_up() override {
    if (std::filesystem::exists(away())) {
      std::filesystem::rename(away(), folder());
    } else {
      std::filesystem::create_directory(folder());
    }
  }

 private:
  std::filesystem::path folder() const { return dir_.path() / "there"; }
  std::filesystem::path away() const { return dir_.path() / "away"; }

  TempDir dir_;
};

// Standard output as a pipe with a reader.
class PipeBench : public SinkBench {
 public:
  PipeBench() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    read_end_ = ends[0];
    write_end_ = ends[1];
    reader_ = std::jthread([this] { read(); });
  }
  ~PipeBench() override {
    ::close(write_end_);
    reader_.join();
    ::close(read_end_);
  }

  std::unique_ptr<Sink> make_sink() override {
    return file::make_line_sink([this](const std::string&, const file::Waker& stop) {
      return file::open_descriptor(write_end_, "standard output", stop);
    });
  }
  std::string destination() const override { return "stdout"; }

  std::vector<Arrival> arrived() override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return text_.ends_with('\n') && bytes_waiting() == 0; });
    return arrivals_in(text_);
  }
  bool poison(Record& record) override {
    record.headers = "[]";
    return true;
  }
  void forget_arrivals() override {
    const std::lock_guard lock(mutex_);
    keeps_ = false;
  }

 private:
  int bytes_waiting() const {
    int waiting = 0;
    ::ioctl(read_end_, FIONREAD, &waiting);
    return waiting;
  }

  void read() {
    std::array<char, 65536> chunk;
    for (;;) {
      pollfd ready{read_end_, POLLIN, 0};
      if (::poll(&ready, 1, -1) < 0) continue;
      const std::lock_guard lock(mutex_);  // what has left the pipe is in the text
      const ssize_t got = ::read(read_end_, chunk.data(), chunk.size());
      if (got <= 0) return;
      if (keeps_) text_.append(chunk.data(), static_cast<std::size_t>(got));
      changed_.notify_all();
    }
  }

  int read_end_ = -1;
  int write_end_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool keeps_ = true;
  std::jthread reader_;
};

INSTANTIATE_TEST_SUITE_P(File, SinkConformance,
                         testing::Values(BenchType{"file", [] { return std::make_unique<FileBench>(); }},
                                         BenchType{"stdout", [] { return std::make_unique<PipeBench>(); }}),
                         bench_name);

}  // namespace
}  // namespace outbox::test
