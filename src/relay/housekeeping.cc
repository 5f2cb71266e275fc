#include "relay/housekeeping.h"

#include <algorithm>

#include "base/log.h"

namespace outbox {

using std::chrono::steady_clock;

namespace {

void complain(std::string_view what, const Failure& failure) {
  log::every(std::chrono::seconds(30), std::string(what), log::Level::warn, what, {{"error", failure.what}});
}

}  // namespace

Housekeeping::Housekeeping(std::unique_ptr<Store> store, HousekeepingOptions options, Hooks hooks)
    : store_(std::move(store)),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Housekeeping::~Housekeeping() = default;

void Housekeeping::run(const std::stop_token& stop) {
  auto beat_at = steady_clock::now();
  auto look_at = beat_at;
  auto prune_at = beat_at + options_.prune_every;
  while (!stop.stop_requested()) {
    const auto now = steady_clock::now();
    if (now >= beat_at) {
      beat(false);
      read_pauses();
      beat_at = now + options_.heartbeat_every;
    }
    if (now >= look_at) {
      look();
      look_at = now + options_.status_every;
    }
    if (now >= prune_at) {
      prune(stop);
      prune_at = now + options_.prune_every;
    }
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, stop, std::min({beat_at, look_at, prune_at}), [] { return false; });
  }
  beat(true);
}

bool Housekeeping::beat(bool stopping) {
  const auto result = store_->heartbeat({options_.relay, hooks_.sinks_json(), stopping});
  if (!result) complain("heartbeat failed", result.failure());
  return result.has_value();
}

// While they cannot be read, what was paused stays so.
void Housekeeping::read_pauses() {
  const auto pauses = store_->pauses();
  if (!pauses) return complain("reading which sinks are paused failed", pauses.failure());
  hooks_.on_pauses(*pauses);
}

void Housekeeping::look() {
  std::vector<StoreStatus> figures;
  for (const Feed& feed : options_.feeds) {
    auto status = store_->status({feed});
    if (!status) {
      complain("reading the outbox's figures failed", status.failure());
      return;
    }
    figures.push_back(*std::move(status));
  }
  hooks_.on_status(figures);
}

void Housekeeping::prune(const std::stop_token& stop) {
  if (!options_.retention.sent && !options_.retention.dead) return;
  const auto started = steady_clock::now();
  // Heartbeats must not wait for a long clean-up.
  while (!stop.stop_requested() && steady_clock::now() - started < options_.heartbeat_every) {
    const auto rows = store_->prune(options_.feeds, options_.retention, options_.prune_rows, false);
    if (!rows) {
      complain("retention failed", rows.failure());
      return;
    }
    if (*rows == 0) return;
  }
}

}  // namespace outbox
