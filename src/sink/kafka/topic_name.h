// What Kafka accepts as the name of a topic.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outbox::kafka {

inline constexpr std::size_t kTopicNameMax = 249;

// nullopt if the name is legal, otherwise why it is not.
std::optional<std::string> topic_name_problem(std::string_view name);

}  // namespace outbox::kafka
