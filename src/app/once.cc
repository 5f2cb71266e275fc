#include "app/once.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli.h"

namespace outbox::app {

namespace {

bool is_left(const SinkView& sink) {
  return sink.died > 0 || sink.queued > 0 || sink.parked.waiting > sink.parked.not_due;
}

const std::string& trouble(const FeedView& feed) {
  return feed.settle_error.empty() ? feed.database_error : feed.settle_error;
}

std::string reason(const std::vector<FeedView>& feeds) {
  for (const FeedView& feed : feeds) {
    if (!feed.settle_error.empty()) return feed.settle_error;
    for (const SinkView& sink : feed.sinks) {
      if (is_left(sink)) return sink.name + ": " + (sink.held_because.empty() ? sink.last_error : sink.held_because);
    }
  }
  return "nothing was tried";
}

}  // namespace

bool anything_left(const std::vector<FeedView>& feeds) {
  return std::any_of(feeds.begin(), feeds.end(), [](const FeedView& feed) {
    return !feed.settle_error.empty() || std::any_of(feed.sinks.begin(), feed.sinks.end(), is_left);
  });
}

OnceWatch::OnceWatch(const config::Settings& settings, Clock::time_point now)
    : longest_pause_(0), database_well_at_(now), tried_at_(now) {
  for (const auto& sink : settings.sinks) longest_pause_ = std::max<Clock::duration>(longest_pause_, sink.retry.cap);
  for (const auto& route : settings.routes) {
    if (route.retry) longest_pause_ = std::max<Clock::duration>(longest_pause_, route.retry->cap);
  }
}

std::optional<OnceWatch::GivenUp> OnceWatch::look(const std::vector<FeedView>& feeds, Clock::time_point last_failure,
                                                  Clock::time_point now) {
  const auto ill =
      std::find_if(feeds.begin(), feeds.end(), [](const FeedView& feed) { return !trouble(feed).empty(); });
  if (ill == feeds.end()) database_well_at_ = now;
  if (now - database_well_at_ >= kDatabasePatience) {
    return GivenUp{kOutOfReach, fmt::format("{} (given up after {} s: --once does not wait for its database)",
                                            trouble(*ill), kDatabasePatience.count())};
  }

  std::uint64_t tried = 0;
  bool in_flight = false;
  for (const FeedView& feed : feeds) {
    for (const SinkView& sink : feed.sinks) {
      tried += sink.delivered + sink.retried + sink.died;
      in_flight = in_flight || sink.in_flight > 0;
    }
  }
  if (tried != tried_ || in_flight || ill != feeds.end()) tried_at_ = now;
  tried_ = tried;
  tried_at_ = std::max(tried_at_, last_failure);
  if (!anything_left(feeds) || now - tried_at_ < longest_pause_ + kTryPatience) return std::nullopt;
  return GivenUp{kAnswerIsNo, fmt::format("not everything was delivered: {}; --once waits no longer than the longest "
                                          "retry.cap for another try: `outboxd status` says what is waiting",
                                          reason(feeds))};
}

}  // namespace outbox::app
