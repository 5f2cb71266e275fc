// The settings of a Kafka sink, and what they mean to librdkafka.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/options.h"
#include "sink/kafka/handles.h"

namespace outbox::kafka {

config::OptionTable kafka_options();

struct ClientSettings {
  std::string sink;                           // its name in the configuration, for messages
  std::string brokers;                        // host:port, separated by commas
  std::map<std::string, std::string> client;  // the user's own librdkafka settings; values may be secrets
  double linger_ms = 5;
  std::string compression = "none";
  std::size_t payload_max = 16u << 20;
  bool tombstones = false;  // a NULL payload becomes a NULL value
};

// See SinkType::check_options.
std::vector<config::OptionProblem> check_options(const config::Values& options);

// Refuses a `client` setting that would break order or confirmation, that another option stands for, or that
// librdkafka does not take. The failure names the key, never a value.
Result<ClientSettings> read_settings(std::string_view sink, const config::Values& options);

// What the relay may leave unconfirmed; the client's own queue is bounded above it.
std::size_t window_bytes(const ClientSettings& settings);
inline constexpr std::size_t kWindowMessages = 16'000;

// The largest batch that is made unless a topic takes less.
inline constexpr std::size_t kBatchBytes = 1'000'000;

// A producer's configuration. `batch_bytes` is at most the smallest max.message.bytes of the topics written to.
Result<ConfHandle> producer_conf(const ClientSettings& settings, std::size_t batch_bytes);

}  // namespace outbox::kafka
