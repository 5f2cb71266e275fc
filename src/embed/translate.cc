#include "embed/translate.h"

#include <exception>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "model/headers.h"

namespace outbox {

namespace {

constexpr std::size_t kReasonMax = 64;
constexpr std::size_t kDetailMax = 1024;

std::string fit(const std::string& text, std::size_t most) { return one_line(valid_utf8(text, most)); }

std::string reason(const std::string& said, const char* otherwise) {
  return said.empty() ? otherwise : fit(said, kReasonMax);
}

}  // namespace

Result<OutboundMessage> to_message(const Publication& publication) {
  const Record& record = *publication.record;
  auto headers = parse_headers(record.headers);
  if (!headers) return headers.failure();
  OutboundMessage message;
  message.aggregate_type = record.aggregate_type;
  message.aggregate_id = record.aggregate_id;
  message.type = record.type;
  message.payload = record.payload;
  message.payload_is_bytes = !record.payload_json;
  message.id = record.id;
  message.headers = *std::move(headers);
  message.schema_version = record.schema_version;
  message.aggregate_version = record.aggregate_version;
  message.not_before = record.not_before;
  message.traceparent = record.traceparent;
  message.created_at = record.created_at;
  message.attempt = publication.attempt;
  return message;
}

Outcome to_outcome(const DeliveryOutcome& said) {
  std::string detail = fit(said.detail(), kDetailMax);
  switch (said.kind()) {
    case DeliveryOutcome::Kind::delivered: return delivered("deliver() said so");
    case DeliveryOutcome::Kind::rejected: return rejected(reason(said.reason(), "rejected"), std::move(detail));
    case DeliveryOutcome::Kind::unavailable:
      return busy(Scope::destination, reason(said.reason(), "unavailable"), std::move(detail), said.wait());
    case DeliveryOutcome::Kind::unknown: break;
  }
  return unknown(reason(said.reason(), "unknown"), std::move(detail));
}

Outcome outcome_of_call(MessageSink& sink, const Publication& publication) {
  const auto message = to_message(publication);
  if (!message) return rejected("bad_headers", message.failure().what);
  try {
    return to_outcome(sink.deliver(*message));
  } catch (const std::exception& error) {
    return unknown("exception", fit(error.what(), kDetailMax));
  } catch (...) {
    return unknown("exception", "deliver() threw something that is no std::exception");
  }
}

}  // namespace outbox
