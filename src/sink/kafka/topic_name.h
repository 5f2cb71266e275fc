// What Kafka accepts as the name of a topic.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::kafka {

inline constexpr std::size_t kTopicNameMax = 249;

// nullopt if the name is legal, otherwise why it is not.
std::optional<std::string> topic_name_problem(std::string_view name);

// Fails if no message could make a legal name of this template: for what stands around its {field}s.
Result<void> check_topic_template(std::string_view address);

}  // namespace outbox::kafka
