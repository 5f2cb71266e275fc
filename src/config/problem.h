// Problem: one complaint about a configuration: file, line, key, what is wrong, what to do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace outbox::config {

struct Problem {
  std::string file;
  int line = 0;  // 0: not about one line
  std::string key;
  std::string what;  // never a value that may be secret
  bool warning = false;

  // "outboxd.yaml:12: sinks.events.timeout: 10 has no unit; write 10s or 10ms"
  std::string text() const;
};

// Collects them all: reading goes on after an error, so that one run shows everything.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void error(int line, std::string key, std::string what) { add(line, std::move(key), std::move(what), false); }
  void warning(int line, std::string key, std::string what) { add(line, std::move(key), std::move(what), true); }

  std::size_t errors() const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [](const Problem& each) { return !each.warning; }));
  }
  bool has_errors() const { return errors() > 0; }
  // By line; those without a line last.
  std::vector<Problem> sorted() const;

 private:
  void add(int line, std::string key, std::string what, bool warning) {
    all_.push_back({file_, line, std::move(key), std::move(what), warning});
  }

  std::string file_;
  std::vector<Problem> all_;
};

}  // namespace outbox::config
