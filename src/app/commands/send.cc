#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/enqueue_once.h"
#include "app/payload_file.h"
#include "app/settings_file.h"
#include "base/text.h"

namespace outbox::app {

namespace {

Result<std::string> read_payload(const SendFlags& flags) {
  if (flags.payload) return *flags.payload;
  if (!flags.payload_file) {
    return Failure{FailureKind::invalid, "send: no payload; give --payload JSON or --payload-file FILE"};
  }
  return read_payload_file(*flags.payload_file);
}

Result<Message> make_message(const SendFlags& flags) {
  auto payload = read_payload(flags);
  if (!payload) return payload.failure();
  Message message;
  message.aggregate_type = flags.aggregate_type;
  message.aggregate_id = flags.aggregate_id;
  message.type = flags.type;
  message.payload = *std::move(payload);
  message.payload_is_bytes = flags.bytes;
  message.id = flags.id;
  message.headers = flags.headers;
  message.aggregate_version = flags.aggregate_version;
  message.schema_version = flags.schema_version;
  message.traceparent = flags.traceparent;
  if (flags.not_before) {
    message.not_before = parse_rfc3339(*flags.not_before);
    if (!message.not_before) {
      return Failure{
          FailureKind::invalid,
          fmt::format("send: --not-before '{}' is no time; write it like 2026-01-31T09:30:00Z", *flags.not_before)};
    }
  }
  return message;
}

}  // namespace

int execute(const SendFlags& flags) {
  const auto settings = load_database_settings(flags.config);
  if (!settings) return kUsage;
  const auto message = make_message(flags);
  if (!message) return report(message.failure());
  const auto sent = enqueue_once(settings->database, settings->outbox.table, *message);
  if (!sent) return report(sent.failure());
  if (sent->duplicate) fmt::print(stderr, "outboxd: {} was there already: nothing was stored\n", sent->id);
  fmt::print("{}\n", sent->id);
  return kDone;
}

}  // namespace outbox::app
