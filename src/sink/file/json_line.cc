#include "sink/file/json_line.h"

#include <fmt/compile.h>

#include <iterator>

#include "base/json_writer.h"
#include "model/headers.h"
#include "sink/file/json_text.h"

namespace outbox::file {
namespace {

void append_text(std::string_view name, std::string_view value, std::string& out) {
  out.append(1, '"').append(name).append("\":");
  append_json_string(out, value);
  out += ',';
}

void append_number(std::string_view name, std::int64_t value, std::string& out) {
  out.append(1, '"').append(name).append("\":").append(std::to_string(value)).append(1, ',');
}

void append_time(Time time, std::string& out) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("\"created_at\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z\","),
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                 clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

Result<void> append_headers(const std::string& headers, std::string& out) {
  out += "\"headers\":";
  if (headers.empty()) {
    out += "{}";
    return {};
  }
  if (auto list = parse_headers(headers); !list) return list.failure();
  if (!append_one_line(headers, out)) {
    return Failure{FailureKind::invalid, "headers: not UTF-8; write an object of strings or arrays of strings"};
  }
  return {};
}

void append_payload(const Record& record, std::string& out) {
  if (record.payload_null) return;
  const std::size_t before = out.size();
  out += ",\"payload\":";
  if (record.payload_json && append_one_line(record.payload, out)) return;
  out.resize(before);
  out += ",\"payload_base64\":\"";
  append_base64(record.payload, out);
  out += '"';
}

}  // namespace

Result<void> append_json_line(const Record& record, std::string& out) {
  const std::size_t before = out.size();
  out += '{';
  append_text("id", record.id, out);
  append_text("aggregate_type", record.aggregate_type, out);
  append_text("aggregate_id", record.aggregate_id, out);
  append_text("type", record.type, out);
  append_time(record.created_at, out);
  if (record.aggregate_version) append_number("aggregate_version", *record.aggregate_version, out);
  if (record.schema_version) append_number("schema_version", *record.schema_version, out);
  if (!record.traceparent.empty()) append_text("traceparent", record.traceparent, out);
  if (auto headers = append_headers(record.headers, out); !headers) {
    out.resize(before);
    return headers;
  }
  append_payload(record, out);
  out += "}\n";
  return {};
}

}  // namespace outbox::file
