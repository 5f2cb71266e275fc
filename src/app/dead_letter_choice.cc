#include "app/dead_letter_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace outbox::app {

namespace {

std::string why_not(const DeliveryInfo& delivery) {
  if (delivery.state == "waiting") return "waits already: it will be tried by itself";
  if (delivery.state == "pending") return "is not sent yet: it will be by itself";
  if (delivery.state == "done" || delivery.state == "sent") return "was delivered: it is not sent again";
  if (delivery.state != "discarded") return "is no dead letter: it is " + delivery.state;
  if (delivery.replaced_by.empty()) return "was discarded: it is not sent again";
  return "was replaced by " + delivery.replaced_by + ": it is not sent again";
}

}  // namespace

Result<bool> explain_ids(const OperatorDesk& desk, const DeliveryFilter& filter, bool on_its_way) {
  const auto parked = desk.store->find(filter.message_ids, filter.sink);
  if (!parked) return parked.failure();
  bool fits = true;
  for (const std::string& id : filter.message_ids) {
    const bool dead = std::any_of(parked->begin(), parked->end(), [&](const DeliveryInfo& each) {
      return each.message_id == id && each.state == "dead";
    });
    if (dead) continue;
    const auto life = desk.store->life(id, route_filters(desk.settings));
    if (!life) return life.failure();
    const auto& known = life->deliveries;
    const auto first = std::find_if(known.begin(), known.end(), [&](const DeliveryInfo& each) {
      return filter.sink.empty() || each.sink == filter.sink;
    });
    if (first == known.end()) {
      fmt::print(stderr, "outboxd: {0} is no dead letter; `outboxd show {0}` says what is known of it\n", id);
      fits = false;
      continue;
    }
    fmt::print(stderr, "outboxd: {} (sink {}) {}\n", id, first->sink, why_not(*first));
    fits = fits && on_its_way && (first->state == "waiting" || first->state == "pending");
  }
  return fits;
}

}  // namespace outbox::app
