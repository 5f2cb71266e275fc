#include "sink/rabbitmq/rabbitmq_sink.h"

#include "sink/rabbitmq/address.h"
#include "sink/rabbitmq/client.h"
#include "sink/rabbitmq/connection.h"
#include "sink/rabbitmq/settings.h"

namespace outbox {
namespace {

std::string default_address(const config::Values& options) {
  return rabbitmq::join_templates(options.text("exchange"), options.text("routing_key"));
}

std::string route_address(const config::Values& options, const config::Values& route) {
  const auto part = [&](std::string_view name) { return route.has(name) ? route.text(name) : options.text(name); };
  return rabbitmq::join_templates(part("exchange"), part("routing_key"));
}

Result<std::unique_ptr<Sink>> create(std::string_view name, const config::Values& options) {
  Result<rabbitmq::Settings> settings = rabbitmq::read_settings(name, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Sink>(std::make_unique<rabbitmq::Client>(std::move(*settings), rabbitmq::Patience{}));
}

Result<std::string> reach(std::string_view name, const config::Values& options) {
  const Result<rabbitmq::Settings> settings = rabbitmq::read_settings(name, options);
  if (!settings) return settings.failure();
  rabbitmq::Lifeline lifeline;
  auto opened = rabbitmq::Connection::open(*settings, rabbitmq::Patience{}.write, lifeline);
  if (const auto* fault = std::get_if<rabbitmq::Fault>(&opened)) {
    return Failure{fault->reason == "access_refused" ? FailureKind::refused : FailureKind::unavailable, fault->detail};
  }
  std::get<0>(opened)->say_goodbye();
  return "logged in at " + settings->endpoint() + ", virtual host " + settings->vhost;
}

}  // namespace

SinkType rabbitmq_sink() {
  return {.name = "rabbitmq",
          .summary = "RabbitMQ exchanges, by AMQP 0-9-1 with publisher confirms",
          .options = rabbitmq::rabbitmq_options(),
          .address_option = "exchange",
          .default_address = default_address,
          .create = create,
          .escape_field = rabbitmq::escape_field,
          .check_options = rabbitmq::check_options,
          .reach = reach,
          .second_address_option = "routing_key",
          .route_address = route_address};
}

}  // namespace outbox
