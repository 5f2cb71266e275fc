// What a relay says of a feed whose shares it runs by several runners, or by none. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "relay/runner.h"

namespace outbox::app {

// Of the same feed, at least one: counts are added, the worst state and the latest moment count.
FeedView merged(std::span<const FeedView> shares);

// The same sink, seen from two places.
void merge(SinkView& into, const SinkView& more);

// Puts what the forwarder of dead letters says of its sink into the feeds' views, or beside them where no route names
// the sink.
void add_forwarding(std::vector<FeedView>& views, const SinkView& forwarding);

// No share is this relay's: another one (`owner`) has them, or the lease could not be had (`database_error`).
FeedView stand_by_view(const Feed& feed, const std::string& owner, const std::string& database_error);

}  // namespace outbox::app
