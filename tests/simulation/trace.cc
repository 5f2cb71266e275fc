#include "trace.h"

#include <cstdio>

namespace outbox::sim {

void Trace::line(const std::string& text) {
  const auto time = loop_.now().time_since_epoch().count();
  if (mode_ == Mode::print) {
    fmt::print("{:4}.{:06} {:6}  {}\n", time / 1'000'000, time % 1'000'000, loop_.step(), text);
    return;
  }
  for (const char c : text + std::to_string(time)) {
    digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
}

}  // namespace outbox::sim
