// What a message costs, to a file, when the backlog is 10,000 messages again and again, when it is 5,000,000, and when
// a transaction holds back the horizon behind which PostgreSQL cleans up.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "outbox_database.h"
#include "report.h"

namespace outbox::bench {

namespace {

constexpr std::int64_t kSmall = 10'000;
constexpr int kRefills = 100;
constexpr int kPayload = 200;  // 5,000,000 of 1 KB would measure the disk
constexpr double kPatience = 900;

// Counts the lines of a file that grows, reading each byte once.
class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)) {}
  std::int64_t count() {
    std::ifstream in(path_, std::ios::binary);
    in.seekg(at_);
    std::array<char, 1 << 16> block;
    while (in.read(block.data(), block.size()) || in.gcount() > 0) {
      lines_ += std::count(block.begin(), block.begin() + in.gcount(), '\n');
      at_ += in.gcount();
    }
    return lines_;
  }

 private:
  std::string path_;
  std::streamoff at_ = 0;
  std::int64_t lines_ = 0;
};

// The daemon at work.
class Relay {
 public:
  Relay(const OutboxDatabase& database, const std::string& configuration, const std::string& path)
      : session_(database.url()), lines_(path), child_({daemon_path(), "run", "--config", configuration}) {}

  void await(std::int64_t lines) {
    const double deadline = now_seconds() + kPatience;
    while (lines_.count() < lines) {
      if (now_seconds() > deadline) throw std::runtime_error("not all that was enqueued gets into the file");
      usleep(20'000);
    }
  }
  // CPU seconds of its PostgreSQL sessions so far.
  double backend_cpu() {
    std::istringstream pids(
        session_.value("select coalesce(string_agg(pid::text, ' '), '') from pg_stat_activity"
                       " where application_name like 'outboxd%' and datname = current_database()"));
    double seconds = 0;
    for (pid_t pid = 0; pids >> pid;) seconds += cpu_seconds_of(pid);
    return seconds;
  }
  Usage so_far() const { return {now_seconds() - started_, cpu_seconds_of(child_.pid()), 0}; }
  Usage stop() { return child_.terminate(); }

 private:
  Session session_;
  Lines lines_;
  double started_ = now_seconds();
  Child child_;
};

class Backlog {
 public:
  explicit Backlog(const Rig& rig)
      : small_(rig, "backlog_small"),
        large_(rig, "backlog_large"),
        path_(rig.folder + "/out.jsonl"),
        report_("backlog", fmt::format("messages of {} bytes from PostgreSQL to a file", kPayload)),
        rig_(rig) {}

  void refill() {
    Relay relay = begin(small_);
    Usage working;
    double backend = 0;
    for (int i = 1; i <= kRefills; ++i) {
      Usage before;
      double backend_before = 0;
      small_.fill(kSmall, kPayload, [&] {
        backend_before = relay.backend_cpu();
        before = relay.so_far();
      });
      relay.await(i * kSmall);
      working.seconds += relay.so_far().seconds - before.seconds;
      working.cpu_seconds += relay.so_far().cpu_seconds - before.cpu_seconds;
      backend += relay.backend_cpu() - backend_before;
    }
    Usage all = relay.so_far();
    working.rss_kb = all.rss_kb = relay.stop().rss_kb;
    add(fmt::format("{} refills of {}, each from its commit", kRefills, kSmall), kRefills * kSmall, working, backend);
    report_.add("the same with the polls while it is filled", kRefills * kSmall, all);
    Session(small_.url()).run("truncate outbox");
  }
  void fill(std::int64_t rows) {
    large_.fill(rows, kPayload);
    large_.rest();
  }
  void drain(std::int64_t rows, const std::string& name) {
    Relay relay = begin(large_);
    relay.await(rows);
    const double backend = relay.backend_cpu();
    add(name, rows, relay.stop(), backend);
  }
  void drain_beside_a_held_horizon(std::int64_t rows, const std::string& name) {
    Session holder(large_.url());
    holder.run("begin isolation level repeatable read");
    holder.run("select count(*) from outbox_position");
    drain(rows, name);
  }
  void finish(const std::string& limit) const { report_.finish(rig_, limit); }

 private:
  Relay begin(OutboxDatabase& database) {
    database.forget_position();
    std::filesystem::remove(path_);
    return {database, database.configuration(rig_, "type: file, path: " + path_), path_};
  }
  void add(const std::string& name, std::int64_t rows, Usage usage, double backend) {
    report_.add(name, rows, usage);
    usage.cpu_seconds = backend;
    usage.rss_kb = 0;
    report_.add(name + ", PostgreSQL's part", rows, usage);
  }

  OutboxDatabase small_;
  OutboxDatabase large_;
  std::string path_;
  Report report_;
  const Rig& rig_;
};

void benchmark(const Rig& rig) {
  const std::int64_t large = rig.rows > 0 ? rig.rows : 5'000'000;
  Backlog backlog(rig);
  backlog.fill(large);
  const std::string plain = fmt::format("backlog of {}", large);
  for (int round = 0; round < rig.rounds; ++round) {
    backlog.refill();
    backlog.drain(large, plain);
    backlog.drain_beside_a_held_horizon(large, plain + ", horizon held");
  }
  backlog.finish(plain);
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
