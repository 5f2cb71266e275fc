// What a status code means (interface: "HTTP answers"), and how a configuration changes it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/outcome.h"

namespace outbox::http {

struct Answer {
  int status = 0;
  std::optional<Duration> retry_after;
  std::string detail;  // for people
};

class Answers {
 public:
  // Keys are a status ("404") or a class ("5xx"); a status counts more than its class. Values: delivered, reject,
  // unknown, retry_destination, retry_message. `invalid` names the pair that is neither.
  static Result<Answers> parse(const std::map<std::string, std::string>& overrides);

  // By default: 2xx delivered. 3xx, never followed, 401, 407: the destination is busy. 408, 425, 429, and 503 with
  // Retry-After: the destination is busy for that long. 409: the message again. 403, 404, 410, other 5xx: unknown,
  // the relay finds out whose fault it is. Other 4xx: rejected.
  Outcome judge(const Answer& answer) const;

 private:
  enum class Meaning { standard, delivered, reject, unknown, retry_destination, retry_message };
  static std::optional<Meaning> meaning(std::string_view word);
  Meaning configured(int status) const;

  std::array<Meaning, 1000> statuses_{};
  std::array<Meaning, 10> classes_{};
};

}  // namespace outbox::http
