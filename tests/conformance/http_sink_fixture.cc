#include "conformance/http_sink_fixture.h"

namespace outbox::test {

std::string words(const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::delivered: return "delivered " + outcome.detail;
    case Verdict::rejected: return "rejected " + outcome.reason;
    case Verdict::unknown: return "unknown " + outcome.reason;
    case Verdict::client_dead: return "client_dead " + outcome.reason;
    case Verdict::busy: break;
  }
  const char* const scope = outcome.scope == Scope::sink          ? "sink "
                            : outcome.scope == Scope::destination ? "destination "
                                                                  : "message ";
  return std::string("busy ") + scope + outcome.reason;
}

}  // namespace outbox::test
