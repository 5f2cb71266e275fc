#include "app/registry.h"

#include <algorithm>

#include "sink/embedded/embedded_sink.h"
#include "sink/file/file_sink.h"
#include "sink/http/http_sink.h"
#include "sink/kafka/kafka_sink.h"
#include "sink/nats/nats_sink.h"
#include "sink/rabbitmq/rabbitmq_sink.h"

namespace outbox::app {

std::span<const SinkType> sink_types() {
  static const std::vector<SinkType> kTypes{
      kafka_sink(), rabbitmq_sink(), nats_sink(), http_sink(), file_sink(), stdout_sink(), embedded_sink(),
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
            if (create == nullptr) return {};
            auto sink = create(name, options);
            if (!sink) return sink.failure();
            return {};
          },
          type.check_address,
          type.check_options,
          type.second_address_option,
          type.route_address};
}

const SinkType& sink_type(const config::SinkSettings& sink) {
  const auto types = sink_types();
  const auto type =
      std::find_if(types.begin(), types.end(), [&](const SinkType& each) { return each.name == sink.type; });
  OUTBOX_ASSERT(type != types.end());
  return *type;
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

Result<config::Settings> served_here(const config::Settings& settings) {
  const auto elsewhere = [](const config::SinkSettings& sink) { return sink_type(sink).create == nullptr; };
  config::Settings here = settings;
  std::erase_if(here.sinks, elsewhere);
  const auto gets_copies = [&](const config::SinkSettings& sink) {
    return settings.forward && settings.forward->sink == sink.name;
  };
  if (std::any_of(settings.sinks.begin(), settings.sinks.end(),
                  [&](const config::SinkSettings& sink) { return gets_copies(sink) && elsewhere(sink); })) {
    return Failure{FailureKind::invalid,
                   "dead_letters.forward.sink: " + settings.forward->sink +
                       " is `type: embedded`, which outboxd delivers nothing to; name another sink"};
  }
  const auto is_routed = [&](const config::SinkSettings& sink) {
    return std::any_of(settings.routes.begin(), settings.routes.end(),
                       [&](const config::RouteSettings& route) { return route.sink == sink.name; });
  };
  if (std::all_of(here.sinks.begin(), here.sinks.end(),
                  [&](const config::SinkSettings& sink) { return gets_copies(sink) && !is_routed(sink); })) {
    return Failure{FailureKind::invalid,
                   "all sinks are `type: embedded`: their programs deliver, and nothing is left to do"};
  }
  for (config::RouteSettings& route : here.routes) {
    const auto sink = std::find_if(settings.sinks.begin(), settings.sinks.end(),
                                   [&](const config::SinkSettings& each) { return each.name == route.sink; });
    if (sink != settings.sinks.end() && elsewhere(*sink)) route.sink = "none";
  }
  return here;
}

Result<std::string> reach_sink(const config::SinkSettings& sink) {
  const SinkType& type = sink_type(sink);
  if (type.reach == nullptr) return std::string(type.name) + ": there is nobody to reach";
  return type.reach(sink.name, sink.options);
}

SinkMaker registered_sinks() {
  return {[](const config::SinkSettings& sink) { return sink_type(sink).create(sink.name, sink.options); },
          [](const config::SinkSettings& sink) { return sink_type(sink).escape_field; }};
}

}  // namespace outbox::app
