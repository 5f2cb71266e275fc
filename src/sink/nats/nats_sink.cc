#include "sink/nats/nats_sink.h"

#include "sink/nats/connection.h"
#include "sink/nats/nats_options.h"
#include "sink/nats/publisher.h"
#include "sink/nats/subject.h"

namespace outbox {
namespace {

std::string default_subject(const config::Values&) { return "{aggregate_type}.{type}"; }

Result<std::unique_ptr<Sink>> create(std::string_view name, const config::Values& values) {
  Result<nats::NatsOptions> options = nats::read_options(name, values);
  if (!options) return options.failure();
  return std::unique_ptr<Sink>(std::make_unique<nats::Publisher>(std::move(*options)));
}

Result<std::string> reach(std::string_view name, const config::Values& values) {
  const Result<nats::NatsOptions> options = nats::read_options(name, values);
  if (!options) return options.failure();
  nats::Bell bell;
  Failure failure;
  for (const nats::Server& server : options->servers) {
    const auto dialled = nats::Connection::dial(*options, server, bell);
    if (dialled.connection) return "logged in at " + server.url;
    if (dialled.failure.reason == "authentication") failure.kind = FailureKind::refused;
    failure.what += (failure.what.empty() ? "" : "; ") + dialled.failure.detail;
  }
  return failure;
}

}  // namespace

SinkType nats_sink() {
  return {.name = "nats",
          .summary = "NATS JetStream streams, by their subjects",
          .options = nats::option_table(),
          .address_option = "subject",
          .default_address = default_subject,
          .create = create,
          .check_address = nats::check_subject_template,
          .check_options = nats::check_options,
          .reach = reach};
}

}  // namespace outbox
