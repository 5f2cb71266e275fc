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
constexpr double kIdleSeconds = 20;
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
      : database_(rig, "backlog"),
        path_(rig.folder + "/out.jsonl"),
        configuration_(database_.configuration(rig, "type: file, path: " + path_)),
        report_("backlog", fmt::format("messages of {} bytes from PostgreSQL to a file", kPayload)) {}

  void refill() {
    begin();
    Relay relay(database_, configuration_, path_);
    for (int i = 1; i <= kRefills; ++i) {
      database_.fill(kSmall, kPayload);
      relay.await(i * kSmall);
    }
    Usage usage = relay.so_far();
    const double backend = relay.backend_cpu();
    // Between two refills it waits for the filling: what that costs is known from a time in which it only waits.
    usleep(static_cast<useconds_t>(kIdleSeconds * 1e6));
    const double waiting = (relay.so_far().cpu_seconds - usage.cpu_seconds) / kIdleSeconds * usage.seconds;
    usage.rss_kb = relay.stop().rss_kb;
    const std::string name = fmt::format("{} refills of {} (rate: of the filling)", kRefills, kSmall);
    add(name, kRefills * kSmall, usage, backend);
    usage.cpu_seconds -= waiting;
    report_.add("the same, less what as long a wait costs", kRefills * kSmall, usage);
    Session(database_.url()).run("truncate outbox");
  }
  void fill(std::int64_t rows) {
    database_.fill(rows, kPayload);
    database_.rest();
  }
  void drain(std::int64_t rows, const std::string& name) {
    begin();
    Relay relay(database_, configuration_, path_);
    relay.await(rows);
    const double backend = relay.backend_cpu();
    add(name, rows, relay.stop(), backend);
  }
  const OutboxDatabase& database() const { return database_; }
  void finish(const Rig& rig, const std::string& limit) const { report_.finish(rig, limit); }

 private:
  void begin() {
    database_.forget_position();
    std::filesystem::remove(path_);
  }
  void add(const std::string& name, std::int64_t rows, Usage usage, double backend) {
    report_.add(name, rows, usage);
    usage.cpu_seconds = backend;
    usage.rss_kb = 0;
    report_.add(name + ", PostgreSQL's part", rows, usage);
  }

  OutboxDatabase database_;
  std::string path_;
  std::string configuration_;
  Report report_;
};

void benchmark(const Rig& rig) {
  const std::int64_t large = rig.rows > 0 ? rig.rows : 5'000'000;
  Backlog backlog(rig);
  for (int round = 0; round < rig.rounds; ++round) backlog.refill();
  backlog.fill(large);
  const std::string plain = fmt::format("backlog of {}", large);
  for (int round = 0; round < rig.rounds; ++round) {
    backlog.drain(large, plain);
    Session holder(backlog.database().url());
    holder.run("begin isolation level repeatable read");
    holder.run("select count(*) from outbox_position");
    backlog.drain(large, plain + ", horizon held");
  }
  backlog.finish(rig, plain);
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
