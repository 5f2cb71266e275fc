#include "app/views.h"

#include <algorithm>

namespace outbox::app {

namespace {

void add(ParkedCounts& to, const ParkedCounts& more) {
  to.waiting += more.waiting;
  to.dead += more.dead;
  to.uncharged += more.uncharged;
  to.not_due += more.not_due;
  to.concerns_stream |= more.concerns_stream;
}

void keep_first(std::string& to, const std::string& more) {
  if (to.empty()) to = more;
}

void add(SinkView& to, const SinkView& more) {
  if (to.breaker == BreakerState::closed) to.breaker = more.breaker;
  keep_first(to.breaker_reason, more.breaker_reason);
  to.closed_destinations = std::max(to.closed_destinations, more.closed_destinations);
  to.in_flight += more.in_flight;
  to.queued += more.queued;
  add(to.parked, more.parked);
  to.delivered += more.delivered;
  to.retried += more.retried;
  to.died += more.died;
  if (more.last_delivery > to.last_delivery) to.last_delivery = more.last_delivery;
  keep_first(to.last_error, more.last_error);
  to.at_cap |= more.at_cap;
  keep_first(to.held_because, more.held_because);
}

}  // namespace

FeedView merged(std::span<const FeedView> shares) {
  FeedView all = shares.front();
  for (const FeedView& share : shares.subspan(1)) {
    for (std::size_t i = 0; i < all.sinks.size(); ++i) add(all.sinks[i], share.sinks[i]);
    all.reading = all.reading && share.reading;
    keep_first(all.database_error, share.database_error);
    keep_first(all.settle_error, share.settle_error);
    all.last_poll = std::min(all.last_poll, share.last_poll);
    all.made_at = std::min(all.made_at, share.made_at);
  }
  return all;
}

FeedView stand_by_view(const Feed& feed, const std::string& owner, const std::string& database_error) {
  FeedView view;
  for (const std::string& sink : feed.sinks) {
    SinkView one;
    one.name = sink;
    view.sinks.push_back(std::move(one));
  }
  view.reading = database_error.empty() && !owner.empty();
  view.database_error = database_error;
  view.made_at = std::chrono::steady_clock::now();
  return view;
}

}  // namespace outbox::app
