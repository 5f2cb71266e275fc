// How `outboxd list` and `outboxd show` present deliveries: as text for people, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "store/operator_store.h"

namespace outbox::app {

// `more`: the limit cut it.
std::string deliveries_text(const std::vector<DeliveryInfo>& deliveries, bool more);
std::string deliveries_json(const std::vector<DeliveryInfo>& deliveries, bool more);

std::string life_text(const std::string& message_id, const MessageLife& life);
std::string life_json(const std::string& message_id, const MessageLife& life);

}  // namespace outbox::app
