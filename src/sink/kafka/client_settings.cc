#include "sink/kafka/client_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace outbox::kafka {
namespace {

using config::Option;
using config::OptionType;

constexpr std::array kOptions{
    Option{.name = "brokers",
           .type = OptionType::text_list,
           .fallback = R"([ "localhost:9092" ])",
           .help = "Brokers to ask for the cluster, host:port each.",
           .required = true},
    Option{.name = "linger",
           .type = OptionType::duration,
           .fallback = "5ms",
           .help = "How long a message may wait for others to share a batch.",
           .min = 0,
           .max = 10'000'000},
    Option{.name = "compression",
           .type = OptionType::choice,
           .fallback = "none",
           .help = "Compression of batches.",
           .choices = "none|gzip|snappy|lz4|zstd"},
    Option{.name = "payload_max",
           .type = OptionType::size,
           .fallback = "16MB",
           .help = "A larger payload goes to the dead letters unsent. The topic's max.message.bytes counts as well, "
                   "before compression.",
           .min = 1 << 10,
           .max = 256 << 20},
    Option{.name = "null_payload",
           .type = OptionType::choice,
           .fallback = "reject",
           .help = "What a NULL payload becomes: a dead letter, or a tombstone that deletes the key from a compacted "
                   "topic.",
           .choices = "reject|tombstone"},
    Option{.name = "client",
           .type = OptionType::text_map,
           .fallback = "",
           .help = "Further settings of the Kafka client (librdkafka), such as security.protocol, sasl.mechanism, "
                   "sasl.username, sasl.password, ssl.ca.location, client.id."},
};

constexpr std::string_view kOrder = "the relay depends on it for order and confirmation";
constexpr std::string_view kOwn = "the sink sets it itself";

struct Refused {
  std::string_view key;
  std::string_view why;
};

constexpr std::array kRefused{
    Refused{"enable.idempotence", kOrder},
    Refused{"enable.gapless.guarantee", kOrder},
    Refused{"acks", kOrder},
    Refused{"request.required.acks", kOrder},
    Refused{"max.in.flight", kOrder},
    Refused{"max.in.flight.requests.per.connection", kOrder},
    Refused{"message.timeout.ms", kOrder},
    Refused{"delivery.timeout.ms", kOrder},
    Refused{"retries", kOrder},
    Refused{"message.send.max.retries", kOrder},
    Refused{"queuing.strategy", kOrder},
    Refused{"delivery.report.only.error", kOrder},
    Refused{"transactional.id", kOrder},
    Refused{"api.version.request", kOrder},
    Refused{"partitioner", "keys would go to other partitions than Java producers use"},
    Refused{"bootstrap.servers", "use the option brokers"},
    Refused{"metadata.broker.list", "use the option brokers"},
    Refused{"linger.ms", "use the option linger"},
    Refused{"queue.buffering.max.ms", "use the option linger"},
    Refused{"compression.type", "use the option compression"},
    Refused{"compression.codec", "use the option compression"},
    Refused{"message.max.bytes", "use the option payload_max"},
    Refused{"queue.buffering.max.messages", kOwn},
    Refused{"queue.buffering.max.kbytes", kOwn},
    Refused{"log.queue", kOwn},
    Refused{"enabled_events", kOwn},
    Refused{"plugin.library.paths", "it loads code into the relay"},
    Refused{"test.mock.num.brokers", "messages would go to a broker that does not exist"},
};

const Refused* find_refused(std::string_view key) {
  if (key.starts_with("topic.")) key.remove_prefix(6);  // librdkafka takes any setting under this prefix, too
  const auto* found = std::ranges::find(kRefused, key, &Refused::key);
  return found == kRefused.end() ? nullptr : found;
}

Failure client_failure(const std::string& sink, const std::string& key, std::string_view problem) {
  return {FailureKind::invalid, fmt::format("sinks.{}.client.{}: {}", sink, key, problem)};
}

// librdkafka's own error text repeats the value, which may be a secret.
std::string_view problem_of(rd_kafka_conf_res_t result) {
  return result == RD_KAFKA_CONF_UNKNOWN ? "the Kafka client has no such setting"
                                         : "the Kafka client refuses this value; see librdkafka's CONFIGURATION.md";
}

class ConfWriter {
 public:
  explicit ConfWriter(rd_kafka_conf_t* conf) : conf_(conf) {}

  rd_kafka_conf_res_t set(const std::string& key, const std::string& value) {
    char error[256];
    return rd_kafka_conf_set(conf_, key.c_str(), value.c_str(), error, sizeof error);
  }
  void fixed(const std::string& key, const std::string& value) { OUTBOX_ASSERT(set(key, value) == RD_KAFKA_CONF_OK); }

 private:
  rd_kafka_conf_t* conf_;
};

// Defaults of ours that a user may override.
void set_defaults(ConfWriter& conf) {
  conf.fixed("client.id", "outboxd");
  conf.fixed("socket.keepalive.enable", "true");
  conf.fixed("socket.nagle.disable", "true");
  conf.fixed("socket.timeout.ms", "30000");
  conf.fixed("reconnect.backoff.ms", "100");
  conf.fixed("reconnect.backoff.max.ms", "5000");  // an outage may last all night
  // With sparse connections each second, and each question about a topic, connects at once, whatever the back-off says.
  conf.fixed("enable.sparse.connections", "false");
}

void set_order(ConfWriter& conf) {
  conf.fixed("enable.idempotence", "true");
  // A batch that fails for good stops the producer in the broker's own thread, before a later one can pass it.
  conf.fixed("enable.gapless.guarantee", "true");
  conf.fixed("acks", "all");
  conf.fixed("message.timeout.ms", "0");
  conf.fixed("partitioner", "murmur2_random");
  conf.fixed("delivery.report.only.error", "false");
  conf.fixed("log.queue", "true");
}

void set_limits(ConfWriter& conf, const ClientSettings& settings, std::size_t batch_bytes) {
  const std::size_t message_max = settings.payload_max + (1u << 20);  // room for the key and the headers
  conf.fixed("message.max.bytes", std::to_string(message_max));
  conf.fixed("queue.buffering.max.messages", std::to_string(2 * kWindowMessages));
  conf.fixed("queue.buffering.max.kbytes", std::to_string(2 * window_bytes(settings) / 1024));
  conf.fixed("batch.size", std::to_string(batch_bytes));
  conf.fixed("linger.ms", fmt::format("{}", settings.linger_ms));
  conf.fixed("compression.type", settings.compression);
  conf.fixed("bootstrap.servers", settings.brokers);
}

}  // namespace

config::OptionTable kafka_options() { return kOptions; }

std::vector<config::OptionProblem> check_options(const config::Values& options) {
  std::vector<config::OptionProblem> problems;
  if (options.has("brokers") && join(options.list("brokers"), "").empty()) {
    problems.push_back({"brokers", "name at least one host:port"});
  }
  const ConfHandle conf(rd_kafka_conf_new());
  ConfWriter writer(conf.get());
  for (const auto& [key, value] : options.map("client")) {
    if (const Refused* refused = find_refused(key)) {
      problems.push_back({"client." + key, fmt::format("cannot be set: {}", refused->why)});
    } else if (const auto result = writer.set(key, value); result != RD_KAFKA_CONF_OK) {
      problems.push_back({"client." + key, std::string(problem_of(result))});
    }
  }
  return problems;
}

Result<ClientSettings> read_settings(std::string_view sink, const config::Values& options) {
  if (const auto problems = check_options(options); !problems.empty()) {
    return Failure{FailureKind::invalid,
                   fmt::format("sinks.{}.{}: {}", sink, problems.front().option, problems.front().what)};
  }
  ClientSettings settings;
  settings.sink = sink;
  settings.brokers = join(options.list("brokers"), ",");
  if (options.has("client")) settings.client = options.map("client");
  settings.linger_ms = static_cast<double>(options.duration("linger").count()) / 1000;
  settings.compression = options.text("compression");
  settings.payload_max = static_cast<std::size_t>(options.size("payload_max"));
  settings.tombstones = options.text("null_payload") == "tombstone";
  Result<ConfHandle> conf = producer_conf(settings, kBatchBytes);
  if (!conf) return conf.failure();
  return settings;
}

std::size_t window_bytes(const ClientSettings& settings) {
  return std::max<std::size_t>(16u << 20, settings.payload_max + (1u << 20));
}

Result<ConfHandle> producer_conf(const ClientSettings& settings, std::size_t batch_bytes) {
  ConfHandle conf(rd_kafka_conf_new());
  ConfWriter writer(conf.get());
  set_defaults(writer);
  set_limits(writer, settings, batch_bytes);
  for (const auto& [key, value] : settings.client) {
    const rd_kafka_conf_res_t result = writer.set(key, value);
    if (result != RD_KAFKA_CONF_OK) return client_failure(settings.sink, key, problem_of(result));
  }
  if (batch_bytes < kBatchBytes) writer.fixed("batch.size", std::to_string(batch_bytes));  // a topic's limit wins
  set_order(writer);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
  return conf;
}

}  // namespace outbox::kafka
