#include "base/log_line.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"

namespace outbox::log {

namespace {

constexpr std::size_t kKeysMax = 4096;

bool plain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7f && c != '"' && c != '=' && c != '\\';
  });
}

void append_logfmt(std::string& line, std::string_view key, std::string_view value) {
  if (!line.empty()) line.push_back(' ');
  line.append(key).push_back('=');
  if (plain(value)) {
    line.append(value);
  } else {
    append_json_string(line, value);
  }
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
  }
  return "?";
}

std::string format_line(Format format, Time time, Level level, std::string_view event, std::span<const Field> fields) {
  const std::string when = to_rfc3339(time);
  if (format == Format::json) {
    JsonWriter json;
    json.begin_object().key("time").value(when).key("level").value(to_string(level)).key("event").value(event);
    for (const Field& field : fields) json.key(field.first).value(field.second);
    json.end_object();
    return json.text();
  }
  std::string line;
  append_logfmt(line, "time", when);
  append_logfmt(line, "level", to_string(level));
  append_logfmt(line, "event", event);
  for (const Field& field : fields) append_logfmt(line, field.first, field.second);
  return line;
}

std::optional<std::uint64_t> RepeatLimiter::admit(const std::string& key, std::chrono::milliseconds interval,
                                                  Clock::time_point now) {
  if (seen_.size() >= kKeysMax && !seen_.contains(key)) forget_old(now);
  auto [entry, first] = seen_.try_emplace(key);
  Seen& seen = entry->second;
  if (!first && now < seen.passed + interval) {
    ++seen.suppressed;
    return std::nullopt;
  }
  seen.passed = now;
  seen.quiet_until = now + interval;
  return std::exchange(seen.suppressed, 0);
}

void RepeatLimiter::forget_old(Clock::time_point now) {
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.quiet_until <= now; });
  if (seen_.size() >= kKeysMax) seen_.clear();
}

}  // namespace outbox::log
