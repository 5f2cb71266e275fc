#include "sink/file/json_line.h"

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

void append_digits(unsigned value, int count, std::string& out) {
  char digits[10];
  for (int i = count - 1; i >= 0; --i, value /= 10) digits[i] = static_cast<char>('0' + value % 10);
  out.append(digits, static_cast<std::size_t>(count));
}

// PostgreSQL's years reach beyond four digits.
void append_year(int year, std::string& out) {
  if (year >= 0 && year <= 9999) {
    append_digits(static_cast<unsigned>(year), 4, out);
  } else {
    out += std::to_string(year);
  }
  out += '-';
}

template <class Part>
void append_part(Part value, int count, char end, std::string& out) {
  append_digits(static_cast<unsigned>(value), count, out);
  out += end;
}

void append_time(Time time, std::string& out) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  out += "\"created_at\":\"";
  append_year(static_cast<int>(date.year()), out);
  append_part(static_cast<unsigned>(date.month()), 2, '-', out);
  append_part(static_cast<unsigned>(date.day()), 2, 'T', out);
  append_part(clock.hours().count(), 2, ':', out);
  append_part(clock.minutes().count(), 2, ':', out);
  append_part(clock.seconds().count(), 2, '.', out);
  append_part(clock.subseconds().count(), 6, 'Z', out);
  out += "\",";
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
