// Trace: one readable line per event, with its virtual time; nothing is formatted while it is off.
//
// A digest of all lines is kept when asked for, so that a test can say that a seed replays exactly.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "loop.h"

namespace outbox::sim {

class Trace {
 public:
  enum class Mode { off, print, digest };

  Trace(const Loop& loop, Mode mode) : loop_(loop), mode_(mode) {}

  bool on() const { return mode_ != Mode::off; }
  std::uint64_t digest() const { return digest_; }

  template <class... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) {
    if (on()) line(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void line(const std::string& text);

  const Loop& loop_;
  Mode mode_;
  std::uint64_t digest_ = 14695981039346656037u;
};

}  // namespace outbox::sim
