// `outboxd run`: every role that the file names. Without its database it waits, not ready; configuration and
// authentication end it.
#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/exit_deadline.h"
#include "app/once.h"
#include "app/process_identity.h"
#include "app/registry.h"
#include "app/relay_service.h"
#include "app/settings_file.h"
#include "app/signals.h"
#include "app/unknown_sinks.h"
#include "app/watch.h"
#include "base/log.h"
#include "base/text.h"

namespace outbox::app {

namespace {

constexpr auto kTurn = std::chrono::milliseconds(200);
constexpr auto kCalmTurn = std::chrono::milliseconds(1000);  // a signal is heard at once, an end by itself within it
constexpr auto kDatabasePatience = std::chrono::milliseconds(1000);
constexpr auto kBeyondDrain = std::chrono::seconds(5);  // to close clients, settle and give the lease up

bool waits_out(const Failure& failure) { return failure.kind == FailureKind::unavailable; }

// The outbox table, and ours beside it, on a server that takes writes: a standby would be asked for a lease for ever.
Result<Database> find_database(const config::Settings& settings) {
  auto database = Database::inspect(settings);
  if (!database) return database;
  if (auto usable = database->check_tables(); !usable) return usable.failure();
  return database;
}

// Looks at the table until the database answers. nullopt: a signal came, or (--once) it is away.
Result<std::optional<Database>> await_database(const config::Settings& settings, bool once) {
  for (;;) {
    auto database = find_database(settings);
    if (database) return std::optional<Database>(*std::move(database));
    if (once || !waits_out(database.failure())) return database.failure();
    log::every(std::chrono::seconds(10), "database", log::Level::warn, "waiting for the database",
               {{"error", database.failure().what}});
    if (wait_for_signal(kDatabasePatience)) return std::optional<Database>();
  }
}

int exit_code(RunnerEnd end, RelayService& service, bool once) {
  switch (end) {
    case RunnerEnd::fenced:
    case RunnerEnd::failed: return report(service.failure());
    default: break;
  }
  if (!once) return kDone;
  if (end == RunnerEnd::stopped) {
    fmt::print(stderr, "outboxd: stopped before everything was delivered\n");
    return kAnswerIsNo;
  }
  if (!anything_left(service.view())) return kDone;
  fmt::print(stderr, "outboxd: not everything was delivered: `outboxd status` says what is waiting or dead\n");
  return kAnswerIsNo;
}

// How a relay stops: within its drain time-out and a little, whether or not the database answers.
class Stop {
 public:
  explicit Stop(Duration drain_timeout)
      : longest_(std::chrono::ceil<std::chrono::milliseconds>(drain_timeout) + kBeyondDrain) {}

  RunnerEnd operator()(RelayService& service, int code = kDone) {
    end_by_deadline(code);
    service.stop();
    return service.wait_until(std::chrono::steady_clock::time_point::max());
  }
  void end_by_deadline(int code) { deadline_.emplace(longest_, code); }

 private:
  std::chrono::milliseconds longest_;
  std::optional<ExitDeadline> deadline_;
};

int run_on(RelayService& service, Stop& stop) {
  RunnerEnd end = RunnerEnd::running;
  while (end == RunnerEnd::running) {
    if (wait_for_signal(kCalmTurn)) {
      log::info("stopping: delivering what is in flight");
      end = stop(service);
    } else {
      end = service.wait_until(std::chrono::steady_clock::now());
    }
  }
  return exit_code(end, service, false);
}

int run_once(RelayService& service, const Watch& watch, const config::Settings& settings, Stop& stop) {
  OnceWatch once(settings, OnceWatch::Clock::now());
  for (;;) {
    const auto now = OnceWatch::Clock::now();
    const RunnerEnd end = service.wait_until(now);
    if (end != RunnerEnd::running) return exit_code(end, service, true);
    if (const auto given_up = once.look(service.view(), watch.last_failure(), now)) {
      stop(service, given_up->code);
      fmt::print(stderr, "outboxd: {}\n", one_line(given_up->what));
      return given_up->code;
    }
    if (!wait_for_signal(kTurn)) continue;
    log::info("stopping: delivering what is in flight");
    return exit_code(stop(service), service, true);
  }
}

}  // namespace

int execute(const RunFlags& flags) {
  const auto all = load_settings(flags.config);
  if (!all) return kUsage;
  const auto settings = served_here(*all);
  if (!settings) return report(settings.failure());
  block_signals();
  log::configure(settings->log.level, settings->log.format);

  Watch watch(*settings);
  if (!flags.once) {  // what ends by itself is not scraped, and must not want a relay's address
    if (auto listening = watch.listen(); !listening) return report(listening.failure());
  }
  const auto database = await_database(*settings, flags.once);
  if (!database) return report(database.failure());
  if (!*database) return kDone;
  for (const std::string& note : (*database)->notes()) log::warn("this outbox table", {{"note", note}});
  if (auto known = refuse_unknown_sinks(*all, **database); !known) return report(known.failure());

  const std::string name = relay_name();
  const SinkMaker sinks = registered_sinks();
  Stop stop(settings->drain_timeout);  // outlives the service, whose end may take its time, too
  auto service = RelayService::start(
      {*settings, **database, sinks, watch.observer()}, name, flags.once,
      [&](const std::string& sink) { return watch.last_failure(sink); }, watch.figures(**database, *settings));
  if (!service) return report(service.failure());
  log::info("relay started", {{"relay", name}, {"version", OUTBOX_VERSION}});
  watch.attach(**service);
  const int code = flags.once ? run_once(**service, watch, *settings, stop) : run_on(**service, stop);
  stop.end_by_deadline(code);
  watch.detach();
  log::info("relay stopped", {{"relay", name}});
  return code;
}

}  // namespace outbox::app
