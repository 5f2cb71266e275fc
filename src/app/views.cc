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

}  // namespace

void merge(SinkView& into, const SinkView& more) {
  if (into.breaker == BreakerState::closed) into.breaker = more.breaker;
  keep_first(into.breaker_reason, more.breaker_reason);
  into.held_destinations = std::max(into.held_destinations, more.held_destinations);
  keep_first(into.held_destination_reason, more.held_destination_reason);
  into.in_flight += more.in_flight;
  into.queued += more.queued;
  add(into.parked, more.parked);
  into.delivered += more.delivered;
  into.retried += more.retried;
  into.died += more.died;
  if (more.last_delivery > into.last_delivery) into.last_delivery = more.last_delivery;
  keep_first(into.last_error, more.last_error);
  into.at_cap |= more.at_cap;
  keep_first(into.held_because, more.held_because);
}

FeedView merged(std::span<const FeedView> shares) {
  FeedView all = shares.front();
  for (const FeedView& share : shares.subspan(1)) {
    for (std::size_t i = 0; i < all.sinks.size(); ++i) merge(all.sinks[i], share.sinks[i]);
    all.reading = all.reading && share.reading;
    keep_first(all.database_error, share.database_error);
    keep_first(all.settle_error, share.settle_error);
    all.last_poll = std::min(all.last_poll, share.last_poll);
    all.made_at = std::min(all.made_at, share.made_at);
  }
  return all;
}

void add_forwarding(std::vector<FeedView>& views, const SinkView& forwarding) {
  for (FeedView& feed : views) {
    for (SinkView& sink : feed.sinks) {
      if (sink.name == forwarding.name) return merge(sink, forwarding);
    }
  }
  FeedView view;
  view.sinks.push_back(forwarding);
  view.reading = true;  // whether the database answers is for the feeds to say, and what they have read
  view.last_poll = kNever;
  view.now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  view.made_at = std::chrono::steady_clock::now();
  views.push_back(std::move(view));
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
