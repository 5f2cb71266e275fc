#include "app/dead_letter_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace outbox::app {

namespace {

std::string why_not(const std::string& state) {
  if (state == "waiting") return "waits already: it will be tried by itself";
  if (state == "done") return "was delivered: it is not sent again";
  return "was discarded: it is not sent again";
}

}  // namespace

Result<bool> explain_ids(OperatorStore& store, const DeliveryFilter& filter) {
  const auto found = store.find(filter.message_ids, filter.sink);
  if (!found) return found.failure();
  bool fits = true;
  for (const std::string& id : filter.message_ids) {
    const auto of_id = [&](const DeliveryInfo& each) { return each.message_id == id; };
    const auto first = std::find_if(found->begin(), found->end(), of_id);
    if (first == found->end()) {
      fmt::print(stderr, "outboxd: {} is no dead letter; `outboxd show {}` says what is known of it\n", id, id);
      fits = false;
      continue;
    }
    const bool dead = std::any_of(found->begin(), found->end(),
                                  [&](const DeliveryInfo& each) { return of_id(each) && each.state == "dead"; });
    if (dead) continue;
    fmt::print(stderr, "outboxd: {} (sink {}) {}\n", id, first->sink, why_not(first->state));
    fits = fits && first->state == "waiting";
  }
  return fits;
}

}  // namespace outbox::app
