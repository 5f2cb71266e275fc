#include "app/registry.h"

#include <algorithm>

#include "sink/file/file_sink.h"
#include "sink/http/http_sink.h"
#include "sink/kafka/kafka_sink.h"
#include "sink/nats/nats_sink.h"
#include "sink/rabbitmq/rabbitmq_sink.h"

namespace outbox::app {

std::span<const SinkType> sink_types() {
  static const std::vector<SinkType> kTypes{
      kafka_sink(), rabbitmq_sink(), nats_sink(), http_sink(), file_sink(), stdout_sink(),
  };
  return kTypes;
}

namespace {

config::SinkKind to_kind(const SinkType& type) {
  return {type.name,
          type.summary,
          type.options,
          type.address_option,
          type.default_address,
          [create = type.create](std::string_view name, const config::Values& options) -> Result<void> {
            auto sink = create(name, options);
            if (!sink) return sink.failure();
            return {};
          },
          type.check_address,
          type.check_options,
          type.second_address_option,
          type.route_address};
}

}  // namespace

std::span<const config::SinkKind> sink_kinds() {
  static const std::vector<config::SinkKind> kKinds = [] {
    std::vector<config::SinkKind> made;
    for (const SinkType& type : sink_types()) made.push_back(to_kind(type));
    return made;
  }();
  return kKinds;
}

const SinkType& sink_type(const std::string& name) {
  const auto types = sink_types();
  const auto type = std::find_if(types.begin(), types.end(), [&](const SinkType& each) { return each.name == name; });
  OUTBOX_ASSERT(type != types.end());
  return *type;
}

Result<std::unique_ptr<Sink>> make_sink(const config::SinkSettings& settings) {
  return sink_type(settings.type).create(settings.name, settings.options);
}

}  // namespace outbox::app
