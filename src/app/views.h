// What a relay says of a feed whose shares it runs by several runners, or by none. Pure functions.
#pragma once

#include <span>
#include <string>

#include "relay/runner.h"

namespace outbox::app {

// Of the same feed, at least one: counts are added, the worst state and the latest moment count.
FeedView merged(std::span<const FeedView> shares);

// No share is this relay's: another one (`owner`) has them, or the lease could not be had (`database_error`).
FeedView stand_by_view(const Feed& feed, const std::string& owner, const std::string& database_error);

}  // namespace outbox::app
