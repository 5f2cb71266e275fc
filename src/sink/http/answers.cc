#include "sink/http/answers.h"

#include <algorithm>

namespace outbox::http {
namespace {

Outcome busy_destination(std::string reason, const Answer& answer) {
  return busy(Scope::destination, std::move(reason), answer.detail, answer.retry_after.value_or(Duration{0}));
}

Outcome standard_outcome(const Answer& answer) {
  const int status = answer.status;
  const std::string reason = "http_" + std::to_string(status);
  if (status >= 200 && status < 300) return delivered("status " + std::to_string(status));
  if (status >= 300 && status < 400) return busy_destination("redirect", answer);
  switch (status) {
    case 401:
    case 407: return busy_destination("credentials", answer);
    case 403:
    case 404:
    case 410: return unknown(reason, answer.detail);
    case 408:
    case 425:
    case 429: return busy_destination(reason, answer);
    case 409: return busy(Scope::message, "conflict", answer.detail, answer.retry_after.value_or(Duration{0}));
    case 503: return answer.retry_after ? busy_destination(reason, answer) : unknown(reason, answer.detail);
    default: break;
  }
  if (status >= 400 && status < 500) return rejected(reason, answer.detail);
  return unknown(reason, answer.detail);
}

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Answers::Meaning> Answers::meaning(std::string_view word) {
  if (word == "delivered") return Meaning::delivered;
  if (word == "reject") return Meaning::reject;
  if (word == "unknown") return Meaning::unknown;
  if (word == "retry_destination") return Meaning::retry_destination;
  if (word == "retry_message") return Meaning::retry_message;
  return {};
}

Result<Answers> Answers::parse(const std::map<std::string, std::string>& overrides) {
  Answers answers;
  for (const auto& [key, value] : overrides) {
    const auto what = meaning(value);
    const bool status = key.size() == 3 && all_digits(key) && key[0] >= '2' && key[0] <= '5';
    const bool whole_class = key.size() == 3 && key.ends_with("xx") && key[0] >= '2' && key[0] <= '5';
    if (!what || (!status && !whole_class)) {
      return Failure{FailureKind::invalid,
                     '"' + key +
                         "\" is not understood; write a status (404) or class (5xx) and one of delivered, reject, "
                         "unknown, retry_destination, retry_message"};
    }
    if (status) {
      answers.statuses_[static_cast<std::size_t>(std::stoi(key))] = *what;
    } else {
      answers.classes_[static_cast<std::size_t>(key[0] - '0')] = *what;
    }
  }
  return answers;
}

Answers::Meaning Answers::configured(int status) const {
  if (status < 0 || status > 999) return Meaning::standard;
  const Meaning own = statuses_[static_cast<std::size_t>(status)];
  return own != Meaning::standard ? own : classes_[static_cast<std::size_t>(status / 100)];
}

Outcome Answers::judge(const Answer& answer) const {
  const std::string reason = "http_" + std::to_string(answer.status);
  switch (configured(answer.status)) {
    case Meaning::standard: break;
    case Meaning::delivered: return delivered("status " + std::to_string(answer.status));
    case Meaning::reject: return rejected(reason, answer.detail);
    case Meaning::unknown: return unknown(reason, answer.detail);
    case Meaning::retry_destination: return busy_destination(reason, answer);
    case Meaning::retry_message:
      return busy(Scope::message, reason, answer.detail, answer.retry_after.value_or(Duration{0}));
  }
  return standard_outcome(answer);
}

}  // namespace outbox::http
