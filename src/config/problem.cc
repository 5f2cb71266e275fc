#include "config/problem.h"

#include <fmt/format.h>

#include <climits>

#include "base/text.h"

namespace outbox::config {

std::string Problem::text() const {
  std::string out = file;
  if (line > 0) out += fmt::format(":{}", line);
  out += ": ";
  if (warning) out += "warning: ";
  if (!key.empty()) out += key + ": ";
  return one_line(out + what);
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> problems = all_;
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return (a.line > 0 ? a.line : INT_MAX) < (b.line > 0 ? b.line : INT_MAX);
  });
  return problems;
}

}  // namespace outbox::config
