#include "model/delivery.h"

#include <algorithm>

namespace outbox {

bool allowed(DeliveryState from, DeliveryState to) {
  return std::any_of(kTransitions.begin(), kTransitions.end(),
                     [&](const Transition& each) { return each.from == from && each.to == to; });
}

std::string_view to_string(DeliveryState state) {
  switch (state) {
    case DeliveryState::claimed: return "claimed";
    case DeliveryState::in_flight: return "in_flight";
    case DeliveryState::waiting: return "waiting";
    case DeliveryState::dead: return "dead";
    case DeliveryState::settled: return "settled";
  }
  return "?";
}

}  // namespace outbox
