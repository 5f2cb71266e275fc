#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log_line.h"

namespace outbox::log {

namespace {

// The process has one standard error, so there is one of this.
struct Output {
  spdlog::logger logger{"outboxd", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<Level> level{Level::info};
  std::atomic<Format> format{Format::logfmt};
  std::mutex mutex;  // guards `repeats`
  RepeatLimiter repeats;
  std::mutex writing;  // guards `redirected`, and is held while it is called
  std::function<void(Level, std::string_view)> redirected;

  Output() {
    logger.set_pattern("%v");
    logger.set_level(spdlog::level::trace);
  }

  void put(Level at, const std::string& line);
};

Output& output() {
  static Output instance;
  return instance;
}

Time machine_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

void Output::put(Level at, const std::string& line) {
  {
    const std::lock_guard lock(writing);
    if (redirected) return redirected(at, line);
  }
  logger.log(to_spdlog(at), line);
}

}  // namespace

void redirect(std::function<void(Level, std::string_view line)> write) {
  Output& out = output();
  const std::lock_guard lock(out.writing);
  out.redirected = std::move(write);
}

void configure(Level level, Format format) {
  output().level = level;
  output().format = format;
}

void write(Level level, std::string_view event, Fields fields) {
  Output& out = output();
  if (level < out.level.load(std::memory_order_relaxed)) return;
  out.put(level, format_line(out.format, machine_now(), level, event, {fields.begin(), fields.end()}));
}

void every(std::chrono::milliseconds interval, const std::string& key, Level level, std::string_view event,
           Fields fields) {
  Output& out = output();
  if (level < out.level.load(std::memory_order_relaxed)) return;
  std::optional<std::uint64_t> suppressed;
  {
    const std::lock_guard lock(out.mutex);
    suppressed = out.repeats.admit(key, interval, RepeatLimiter::Clock::now());
  }
  if (!suppressed) return;
  std::vector<Field> all(fields);
  if (*suppressed > 0) all.emplace_back("suppressed", std::to_string(*suppressed));
  out.put(level, format_line(out.format, machine_now(), level, event, all));
}

}  // namespace outbox::log
