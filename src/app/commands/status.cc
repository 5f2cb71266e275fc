#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "app/commands/commands.h"
#include "app/database.h"
#include "app/settings_file.h"
#include "app/status_report.h"

namespace outbox::app {

namespace {

constexpr timespec kRefresh{2, 0};

struct Subject {
  Store& store;
  const std::vector<Feed>& feeds;
  std::vector<std::string> sinks;
};

// That of dead letters, too, which no feed has to have.
std::vector<std::string> sinks_of(const std::vector<Feed>& feeds, const config::Settings& settings) {
  std::vector<std::string> sinks;
  for (const Feed& feed : feeds) sinks.insert(sinks.end(), feed.sinks.begin(), feed.sinks.end());
  if (settings.forward) sinks.push_back(settings.forward->sink);
  return sinks;
}

Result<StatusReport> read_status(const Subject& subject) {
  auto status = subject.store.status(subject.feeds);
  if (!status) return status.failure();
  return make_status_report(*std::move(status), subject.sinks);
}

int show(const Result<StatusReport>& status, bool json) {
  if (!status) return report(status.failure());
  fmt::print("{}", json ? status_json(*status) + "\n" : status_text(*status));
  std::fflush(stdout);
  return kDone;
}

// Shows it again and again; a database that is away is shown, too, and waited for.
int watch(const Subject& subject, bool json) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  while (true) {
    if (!json && isatty(STDOUT_FILENO) != 0) fmt::print("\x1b[H\x1b[2J");
    show(read_status(subject), json);
    if (std::ferror(stdout) != 0 || sigtimedwait(&ends, nullptr, &kRefresh) >= 0) return kDone;
  }
}

}  // namespace

int execute(const StatusFlags& flags) {
  const auto settings = load_settings(flags.config);
  if (!settings) return kUsage;
  const auto outbox = open_outbox(*settings);
  if (!outbox) return report(outbox.failure());
  const Subject subject{*outbox->store, outbox->feeds, sinks_of(outbox->feeds, *settings)};
  if (flags.watch) return watch(subject, flags.json);
  return show(read_status(subject), flags.json);
}

}  // namespace outbox::app
