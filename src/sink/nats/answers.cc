#include "sink/nats/answers.h"

#include <fmt/core.h>
#include <nats/nats.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/json_walk.h"
#include "base/text.h"
#include "base/utf8.h"

namespace outbox::nats {
namespace {

constexpr std::size_t kDescriptionMax = 300;
constexpr int kTooManyRequests = 10167;  // JSStreamTooManyRequests, of servers younger than the client library

struct Known {
  int error;
  Verdict verdict;  // busy: of the destination
  std::string_view reason;
};

constexpr std::array kKnown{
    Known{JSStreamMessageExceedsMaximumErr, Verdict::rejected, "too_large"},
    Known{JSStreamStoreFailedErr, Verdict::busy, "store_failed"},
    Known{JSStreamLimitsErr, Verdict::busy, "stream_full"},
    Known{JSAccountResourcesExceededErr, Verdict::busy, "no_resources"},
    Known{JSInsufficientResourcesErr, Verdict::busy, "no_resources"},
    Known{JSMemoryResourcesExceededErr, Verdict::busy, "no_resources"},
    Known{JSStorageResourcesExceededErr, Verdict::busy, "no_resources"},
    Known{JSNoLimitsErr, Verdict::busy, "no_resources"},
    Known{kTooManyRequests, Verdict::busy, "overloaded"},
    Known{JSStreamSealedErr, Verdict::busy, "stream_sealed"},
    Known{JSStreamNotFoundErr, Verdict::busy, "no_stream"},
    Known{JSNotEnabledErr, Verdict::busy, "no_jetstream"},
    Known{JSNotEnabledForAccountErr, Verdict::busy, "no_jetstream"},
    Known{JSNoAccountErr, Verdict::busy, "no_jetstream"},
    Known{JSClusterIncompleteErr, Verdict::busy, "unavailable"},
    Known{JSClusterNoPeersErr, Verdict::busy, "unavailable"},
    Known{JSClusterNotActiveErr, Verdict::busy, "unavailable"},
    Known{JSClusterNotAssignedErr, Verdict::busy, "unavailable"},
    Known{JSClusterNotAvailErr, Verdict::busy, "unavailable"},
    Known{JSClusterNotLeaderErr, Verdict::busy, "unavailable"},
    Known{JSRaftGeneralErr, Verdict::busy, "unavailable"},
    Known{JSStreamOfflineErr, Verdict::busy, "unavailable"},
};

// The members of the answer that count, whatever else newer servers put there.
class AnswerReader : public JsonVisitor {
 public:
  std::string stream;
  std::uint64_t sequence = 0;
  bool repeat = false;
  bool has_error = false;
  int error = 0;
  std::string description;

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (at("", "duplicate")) repeat = value;
    return true;
  }
  bool number(const std::string& text) override {
    if (at("", "seq")) std::from_chars(text.data(), text.data() + text.size(), sequence);
    if (at("error", "err_code")) std::from_chars(text.data(), text.data() + text.size(), error);
    return true;
  }
  bool string(std::string& value) override {
    if (at("", "stream")) {
      stream = std::move(value);
    } else if (at("error", "description")) {
      description = std::move(value);
    }
    return true;
  }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool begin_object() override {
    if (++depth_ == 2) parent_ = name_;
    has_error = has_error || (depth_ == 2 && parent_ == "error");
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) parent_.clear();
    return true;
  }
  bool begin_array() override { return begin_object(); }
  bool end_array() override { return end_object(); }
  void syntax_error(std::size_t) override {}

 private:
  bool at(std::string_view parent, std::string_view name) const {
    return name_ == name && parent_ == parent && depth_ == (parent.empty() ? 1 : 2);
  }

  int depth_ = 0;
  std::string parent_;
  std::string name_;
};

}  // namespace

Outcome outcome_of(int error, std::string_view description) {
  std::string detail =
      fmt::format("JetStream refused it: {} ({})", valid_utf8(one_line(description), kDescriptionMax), error);
  if (error == JSStreamStoreFailedErr) {  // one number for all that the store says
    if (description.find("large") != std::string_view::npos) return rejected("too_large", std::move(detail));
    // "maximum messages exceeded", "maximum bytes exceeded", "maximum messages per subject exceeded"
    if (description.find("maximum") != std::string_view::npos) {
      return busy(Scope::destination, "stream_full", std::move(detail));
    }
  }
  for (const Known& known : kKnown) {
    if (known.error != error) continue;
    if (known.verdict == Verdict::rejected) return rejected(std::string(known.reason), std::move(detail));
    return busy(Scope::destination, std::string(known.reason), std::move(detail));
  }
  return unknown(fmt::format("jetstream_{}", error), std::move(detail));
}

Answer read_answer(DeliveryId id, std::string_view json) {
  AnswerReader reader;
  const bool whole = walk_json(json, reader);
  if (whole && reader.has_error) return {id, outcome_of(reader.error, reader.description)};
  if (whole && !reader.stream.empty() && reader.sequence > 0) {
    Outcome stored = delivered(fmt::format("{}/{}", reader.stream, reader.sequence));
    if (reader.repeat) stored.reason = "duplicate";
    return {id, std::move(stored)};
  }
  return {id, busy(Scope::destination, "no_jetstream",
                   "something other than a stream answers on this subject; bind a stream to it")};
}

Answer no_stream(DeliveryId id) {
  return {id, busy(Scope::destination, "no_stream",
                   "no stream takes this subject; create one, or add the subject to one (nats stream add)")};
}

std::string denied_subject(std::string_view server_error) {
  constexpr std::string_view kBegin = "Permissions Violation for Publish to \"";
  const auto begin = server_error.find(kBegin);
  if (begin == std::string_view::npos) return {};
  const auto from = begin + kBegin.size();
  return std::string(server_error.substr(from, server_error.find('"', from) - from));
}

}  // namespace outbox::nats
