#include "sink/kafka/kafka_sink.h"

#include "sink/kafka/client_settings.h"
#include "sink/kafka/pipeline.h"
#include "sink/kafka/reach.h"
#include "sink/kafka/topic_name.h"

namespace outbox {
namespace {

std::string default_topic(const config::Values&) { return "outbox.event.{aggregate_type}"; }

Result<std::unique_ptr<Sink>> create(std::string_view name, const config::Values& options) {
  Result<kafka::ClientSettings> settings = kafka::read_settings(name, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Sink>(std::make_unique<kafka::Pipeline>(std::move(*settings), kafka::Patience{}));
}

Result<std::string> reach(std::string_view name, const config::Values& options) {
  Result<kafka::ClientSettings> settings = kafka::read_settings(name, options);
  if (!settings) return settings.failure();
  return kafka::reach_cluster(*settings);
}

}  // namespace

SinkType kafka_sink() {
  return {.name = "kafka",
          .summary = "Apache Kafka topics, by an idempotent producer",
          .options = kafka::kafka_options(),
          .address_option = "topic",
          .default_address = default_topic,
          .create = create,
          .check_address = kafka::check_topic_template,
          .check_options = kafka::check_options,
          .reach = reach};
}

}  // namespace outbox
