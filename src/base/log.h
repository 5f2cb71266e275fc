// The daemon's log: one line per event that matters, logfmt or JSON, on stderr. Any thread.
//
//   log::info("relay started", {{"relay", name}, {"epoch", std::to_string(epoch)}});
//
// Values are quoted and control characters escaped. Never pass a secret. log::every limits repeats: at most one line
// per key and interval, with how many were left out.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace outbox::log {

enum class Level { debug, info, warn, error };
enum class Format { logfmt, json };

using Field = std::pair<std::string_view, std::string>;
using Fields = std::initializer_list<Field>;

void configure(Level level, Format format);
// Lines go to `write`, without the line break, instead of standard error: one call at a time, from any thread. An empty
// one: standard error again.
void redirect(std::function<void(Level, std::string_view line)> write);
void write(Level level, std::string_view event, Fields fields = {});

inline void debug(std::string_view event, Fields fields = {}) { write(Level::debug, event, fields); }
inline void info(std::string_view event, Fields fields = {}) { write(Level::info, event, fields); }
inline void warn(std::string_view event, Fields fields = {}) { write(Level::warn, event, fields); }
inline void error(std::string_view event, Fields fields = {}) { write(Level::error, event, fields); }

// As write(), but at most once per `interval` for the same `key`; the next line then carries suppressed=N.
void every(std::chrono::milliseconds interval, const std::string& key, Level level, std::string_view event,
           Fields fields = {});

}  // namespace outbox::log
