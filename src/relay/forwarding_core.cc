#include "relay/forwarding_core.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/headers.h"

namespace outbox {

RecordPtr forwarded_copy(const DeadLetter& dead) {
  const auto text = [](const std::string& value) { return one_line(valid_utf8(value, kForwardedTextMax)); };
  std::vector<std::pair<std::string_view, std::string>> reasons{
      {"dead-letter-sink", dead.sink},
      {"dead-letter-reason", text(dead.reason)},
      {"dead-letter-attempts", std::to_string(dead.attempts)},
      {"dead-letter-at", to_rfc3339(dead.place.died_at)},
  };
  if (!dead.error.empty()) reasons.emplace_back("dead-letter-error", text(dead.error));
  if (!dead.owner.empty()) reasons.emplace_back("dead-letter-owner", text(dead.owner));

  auto copy = std::make_shared<Record>(*dead.record);
  if (!parse_headers(copy->headers)) copy->headers.clear();  // what it may have died of
  for (const auto& [name, value] : reasons) {
    auto with = with_header(copy->headers, name, value);
    OUTBOX_ASSERT(with);
    copy->headers = *std::move(with);
  }
  return copy;
}

void ForwardingCore::begin_round() {
  over_ = false;
  round_began_at_ = delivered_;
  asked_to_wait_ = Duration(0);
  waiting_keys_.clear();
  closed_.clear();
  if (tries_.size() > kWaitingMax) tries_.clear();  // of dead letters that people have taken away
}

ForwardingCore::Copy ForwardingCore::make_copy(const DeadLetter& dead) const {
  Copy copy{dead, forwarded_copy(dead), expand(route_, *dead.record).value_or(""), std::nullopt};
  if (copy.destination.empty()) {
    copy.outcome = rejected("bad_address", "the address of dead_letters.forward comes out empty for this message");
  } else if (sink_.payload_max > 0 && copy.record->payload.size() > sink_.payload_max) {
    copy.outcome = rejected("too_large", std::to_string(copy.record->payload.size()) + " bytes; the sink takes " +
                                             std::to_string(sink_.payload_max));
  }
  return copy;
}

std::vector<ForwardingCore::Copy> ForwardingCore::next_wave(std::vector<DeadLetter>& left) {
  // A sink that is away is tried with another key than the last time, if there is one: it may have been the message.
  if (away_ && !left.empty() && left.front().record->key == last_probe_) {
    const auto other = std::find_if(left.begin(), left.end(),
                                    [this](const DeadLetter& each) { return each.record->key != last_probe_; });
    if (other != left.end()) std::rotate(left.begin(), other, other + 1);
  }
  const std::size_t most = away_ ? 1 : std::min(kWaveMax, sink_.window_messages);
  std::vector<Copy> wave;
  std::vector<DeadLetter> later;
  std::set<std::string> keys;
  std::size_t bytes = 0;
  for (DeadLetter& dead : left) {
    const std::string& key = dead.record->key;
    if (waiting_keys_.contains(key)) continue;
    const bool full = wave.size() >= most || (!wave.empty() && bytes + dead.record->bytes() > sink_.window_bytes);
    if (full || !keys.insert(key).second) {
      keys.insert(key);
      later.push_back(std::move(dead));
      continue;
    }
    Copy copy = make_copy(dead);
    if (closed_.contains(copy.destination)) {
      wait(copy);
      continue;
    }
    bytes += dead.record->bytes();
    wave.push_back(std::move(copy));
  }
  left = std::move(later);
  wave_began_at_ = delivered_;
  return wave;
}

std::vector<Forwarded> ForwardingCore::judge(const std::vector<Copy>& wave, const std::vector<Outcome>& outcomes) {
  std::vector<Forwarded> done;
  const bool only_one = wave.size() == 1;
  for (std::size_t i = 0; i < wave.size(); ++i) {
    auto forwarded = judge_one(wave[i], outcomes[i]);
    if (forwarded) {
      done.push_back(*std::move(forwarded));
    } else if (only_one) {
      last_probe_ = wave[i].dead.record->key;
    }
  }
  return done;
}

std::optional<Forwarded> ForwardingCore::judge_one(const Copy& copy, const Outcome& outcome) {
  const DeathPlace& place = copy.dead.place;
  const bool tried_again = outcome.verdict != Verdict::delivered && outcome.verdict != Verdict::rejected;
  if (tried_again) last_failure_ = outcome.reason + ": " + outcome.detail;
  switch (outcome.verdict) {
    case Verdict::delivered:
      ++delivered_;
      away_ = false;
      tries_.erase({place.row, place.died_at});
      return Forwarded{place.row, place.died_at, {}};
    case Verdict::rejected:
      away_ = false;
      tries_.erase({place.row, place.died_at});
      return Forwarded{place.row, place.died_at, outcome.reason + ": " + outcome.detail};
    case Verdict::unknown: return failed(copy, outcome);
    case Verdict::client_dead: break;
    case Verdict::busy:
      asked_to_wait_ = std::max(asked_to_wait_, outcome.after);
      if (outcome.scope == Scope::message) return failed(copy, outcome);
      if (outcome.scope == Scope::destination) {
        closed_.insert(copy.destination);
        wait(copy);
        return std::nullopt;
      }
      break;
  }
  wait(copy);
  away_ = true;
  over_ = true;
  return std::nullopt;
}

// Whose fault it is shows by the others: it is the message's if another one arrived since its last try.
std::optional<Forwarded> ForwardingCore::failed(const Copy& copy, const Outcome& outcome) {
  const DeathPlace& place = copy.dead.place;
  auto& tries = tries_.try_emplace({place.row, place.died_at}, Tries{0, wave_began_at_}).first->second;
  if (delivered_ > tries.delivered_before) ++tries.charged;
  tries.delivered_before = delivered_;
  if (tries.charged >= retry_.attempts) {
    tries_.erase({place.row, place.died_at});
    return Forwarded{place.row, place.died_at, outcome.reason + ": " + outcome.detail};
  }
  wait(copy);
  if (away_) over_ = true;
  return std::nullopt;
}

void ForwardingCore::wait(const Copy& copy) { waiting_keys_.insert(copy.dead.record->key); }

Duration ForwardingCore::end_round() {
  if (waiting_keys_.empty()) {
    failed_rounds_ = 0;
    return Duration(0);
  }
  if (delivered_ == round_began_at_) away_ = true;
  ++failed_rounds_;
  return std::max(asked_to_wait_, full_jitter(retry_.base, retry_.cap, failed_rounds_, random_));
}

}  // namespace outbox
