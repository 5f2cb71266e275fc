#include "sink/http/request.h"

#include <algorithm>

#include "sink/http/header_rules.h"

namespace outbox::http {
namespace {

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

std::string line(std::string_view name, std::string_view value) {
  std::string text(name);
  return text.append(": ").append(value);
}

Result<void> check(const std::string& name, const std::string& value) {
  if (!header_name(name)) return invalid("header names are made of letters, digits and !#$%&'*+-.^_`|~");
  if (set_by_sink(name) || reserved_header(name)) return invalid("the header " + name + " cannot be set by a message");
  if (!header_value(value)) return invalid("the value of the header " + name + " holds a control character");
  return {};
}

bool configured(const HttpOptions& options, std::string_view name) {
  return std::ranges::any_of(options.headers, [&](const auto& each) { return same_header(each.first, name); });
}

void sign(const Record& record, const WebhookSecret& secret, Time now, std::vector<std::string>& lines) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  lines.push_back(line("webhook-id", record.id));
  lines.push_back(line("webhook-timestamp", std::to_string(seconds)));
  lines.push_back(line("webhook-signature", secret.sign(record.id, seconds, record.payload)));
}

}  // namespace

Result<std::vector<std::string>> header_lines(const Publication& publication, const HttpOptions& options, Time now) {
  const Record& record = *publication.record;
  auto wire = wire_headers(record);
  if (!wire) return wire.failure();
  std::vector<std::string> lines;
  lines.reserve(wire->size() + options.headers.size() + 5);
  lines.push_back(line("Idempotency-Key", record.id));
  lines.push_back(line("outbox-attempt", std::to_string(publication.attempt)));
  for (const auto& [name, value] : *wire) {
    if (auto fine = check(name, value); !fine) return fine.failure();
    if (!configured(options, name)) lines.push_back(line(name, value));
  }
  for (const auto& [name, value] : options.headers) lines.push_back(line(name, value));
  if (options.secret) sign(record, *options.secret, now, lines);
  return lines;
}

}  // namespace outbox::http
