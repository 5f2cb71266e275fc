#include "record.h"
#include "sim_sink.h"

namespace outbox::sim {

FarEnd::FarEnd(const Scenario& scenario, std::size_t sink, Dice& dice, Witness& witness, Trace& trace)
    : scenario_(scenario), sink_(sink), dice_(dice), witness_(witness), trace_(trace) {}

namespace {
constexpr const char* kTroubles[] = {"works", "refuses connections", "asks to wait", "answers 500", "hangs"};
}

void FarEnd::whole(Trouble trouble) {
  whole_ = trouble;
  trace_("far end {} {}", scenario_.sinks[sink_].name, kTroubles[static_cast<int>(trouble)]);
}

void FarEnd::destination(const std::string& name, Trouble trouble) {
  troubles_[name] = trouble;
  trace_("far end {} {} {}", scenario_.sinks[sink_].name, name, kTroubles[static_cast<int>(trouble)]);
}

void FarEnd::heal() {
  whole_ = Trouble::none;
  troubles_.clear();
}

std::vector<std::string> FarEnd::destinations() const {
  std::vector<std::string> names;
  for (const auto& route : scenario_.routes) {
    if (route.sink != scenario_.sinks[sink_].name) continue;
    Record record;
    record.aggregate_type = route.aggregate_type.value_or("");
    names.push_back(expand(route, record).value_or(""));
  }
  return names;
}

Answer FarEnd::in_trouble(Trouble trouble, Scope scope) {
  switch (trouble) {
    case Trouble::busy:
      return {false, busy(scope, "http_429", "asked to wait", dice_.between(Duration(20ms), Duration(500ms))), {}};
    case Trouble::errors: return {false, unknown("http_500", "the far end is ill"), {}};
    case Trouble::hangs:
      return {false, unknown("timeout", "no answer"), dice_.between(Duration(200ms), Duration(800ms))};
    default: return {false, busy(scope, "refused", "connection refused"), {}};
  }
}

Answer FarEnd::receive(const Publication& publication, const Faults& faults) {
  if (whole_ != Trouble::none) return in_trouble(whole_, Scope::sink);
  const auto trouble = troubles_.find(publication.destination);
  if (trouble != troubles_.end() && trouble->second != Trouble::none) {
    return in_trouble(trouble->second, Scope::destination);
  }
  const auto& message = witness_.message(publication.record->id);
  if (message.kind == MessageKind::rejected) return {false, rejected("http_422", "malformed"), {}};
  if (message.kind == MessageKind::always_500) return {false, unknown("http_500", "it breaks the endpoint"), {}};
  if (dice_.chance(faults.message_fails) && failures_[message.id] < 2) {
    ++failures_[message.id];
    if (dice_.chance(0.5)) return {false, busy(Scope::message, "conflict", "try again"), {}};
    return {false, unknown("http_503", "try again"), {}};
  }
  witness_.arrived(sink_, message, reading_of(*publication.record).version);
  if (dice_.chance(faults.confirmation_lost)) {
    return {true, unknown("timeout", "the answer was lost"), dice_.between(Duration(100ms), Duration(500ms))};
  }
  return {true, delivered("ok"), {}};
}

}  // namespace outbox::sim
