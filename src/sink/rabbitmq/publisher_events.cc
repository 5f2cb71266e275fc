// What the broker says, and what becomes of the messages that it concerns.
#include <amqp.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "sink/rabbitmq/publisher.h"

namespace outbox::rabbitmq {
namespace {

// The codes that say something about where a message was to go; others say something about the message.
bool concerns_destination(int code) {
  return code == AMQP_NOT_FOUND || code == AMQP_ACCESS_REFUSED || code == AMQP_RESOURCE_LOCKED;
}

Outcome judge_closing(const Event& closed) {
  const std::string detail = fmt::format("{} {}", closed.code, closed.text);
  switch (closed.code) {
    case AMQP_NOT_FOUND: return busy(Scope::destination, "no_exchange", detail);
    case AMQP_ACCESS_REFUSED: return busy(Scope::destination, "access_refused", detail);
    case AMQP_RESOURCE_LOCKED: return busy(Scope::destination, "resource_locked", detail);
    case AMQP_PRECONDITION_FAILED:
      return rejected(closed.text.find("message size") != std::string::npos ? "too_large" : "refused", detail);
    default: return unknown("channel_closed", detail);
  }
}

// The broker takes exception to what it was sent, not to us: it would do so again.
bool is_protocol_error(int code) { return code >= AMQP_FRAME_ERROR && code < AMQP_INTERNAL_ERROR; }

template <class T>
void append(std::vector<Held>& all, T&& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void Publisher::read() {
  while (connection_) {
    auto got = connection_->read();
    if (const auto* fault = std::get_if<Fault>(&got)) return on_lost(*fault);
    const auto& event = std::get<0>(got);
    if (!event) return;
    handle(*event);
  }
}

void Publisher::handle(const Event& event) {
  const auto trial = std::ranges::find(trials_, event.channel, &Trial::channel);
  const bool on_trial = trial != trials_.end();
  ConfirmLedger& ledger = on_trial ? trial->ledger : ledger_;
  switch (event.kind) {
    case Event::Kind::confirmed: ledger.confirmed(event.tag, event.multiple, event.acked, outcomes_); break;
    case Event::Kind::returned: ledger.returned(event.message_id, event.text); break;
    case Event::Kind::selected: on_trial_passed(); break;
    case Event::Kind::channel_closed: on_trial ? on_trial_failed(*trial, event) : on_channel_lost(event); break;
    case Event::Kind::blocked: on_blocked(event.text); break;
    case Event::Kind::unblocked:
      log::info("rabbitmq is no longer blocked", {{"sink", settings_.sink}});
      blocked_.reset();
      blocked_given_back_ = false;
      break;
  }
}

void Publisher::on_blocked(const std::string& why) {
  log::warn("rabbitmq is blocked", {{"sink", settings_.sink}, {"reason", why}});
  blocked_ =
      busy(Scope::sink, "blocked", fmt::format("{}: the broker takes nothing for now: {}", settings_.endpoint(), why));
  blocked_at_ = Clock::now();
}

void Publisher::on_trial_passed() {
  if (!trying_) return;
  Exchange& exchange = exchanges_[*trying_];
  exchange.open = true;
  std::ranges::move(exchange.waiting, std::back_inserter(ready_));
  exchange.waiting.clear();
  trying_.reset();
  has_more_to_do_ = true;
}

// There is one message on the channel, or none: it was given back meanwhile.
void Publisher::on_trial_failed(Trial& trial, const Event& closed) {
  trial.open = false;
  std::optional<std::string> tried;
  if (trying_on_ == trial.channel) tried = std::exchange(trying_, std::nullopt);
  for (Held& held : trial.ledger.take_all()) blame(held, closed);
  if (tried) {
    const auto exchange = exchanges_.find(*tried);
    if (exchange != exchanges_.end() && !exchange->second.waiting.empty()) untried_.push_front(*tried);
  }
  has_more_to_do_ = true;
}

void Publisher::on_channel_lost(const Event& closed) {
  std::vector<Held> sent = ledger_.take_all();
  log::warn("rabbitmq closed the channel", {{"sink", settings_.sink},
                                            {"code", std::to_string(closed.code)},
                                            {"text", closed.text},
                                            {"unconfirmed", std::to_string(sent.size())}});
  if (sent.size() > 1) {
    dead_ = client_dead("channel_closed", fmt::format("{} {}", closed.code, closed.text));
    give_back(std::move(sent), *dead_);
    return give_up(*dead_);
  }
  // What is unsent has to try its exchange again: it may be the one that is gone.
  std::vector<Held> unsent = take_unsent();
  if (!sent.empty()) blame(sent.front(), closed);
  if (lost(connection_->open_channel(closed.channel))) return give_back(std::move(unsent), *down_);
  for (Held& held : unsent) accept(std::move(held));
  has_more_to_do_ = true;
}

void Publisher::blame(Held& held, const Event& closed) {
  const Outcome outcome = judge_closing(closed);
  const std::string exchange = held.address.exchange;
  refuse(held, outcome);
  if (concerns_destination(closed.code)) close_exchange(exchange, outcome);
}

void Publisher::close_exchange(const std::string& name, const Outcome& outcome) {
  const auto exchange = exchanges_.find(name);
  if (exchange == exchanges_.end()) return;
  for (Held& held : exchange->second.waiting) refuse(held, outcome);
  exchanges_.erase(exchange);
  std::erase(untried_, name);
}

bool Publisher::lost(const std::optional<Fault>& fault) {
  if (fault) on_lost(*fault);
  return fault.has_value();
}

void Publisher::on_lost(const Fault& fault) {
  const std::size_t in_flight = unconfirmed();
  if (is_protocol_error(fault.code) && in_flight == 1) {
    for (ConfirmLedger* ledger : ledgers()) {
      give_back(ledger->take_all(), rejected("refused", fmt::format("{} {}", fault.code, fault.detail)));
    }
  }
  if (is_protocol_error(fault.code) && in_flight > 1) dead_ = client_dead(fault.reason, fault.detail);
  down_ = busy(Scope::sink, fault.reason, fault.detail);
  down_until_ = Clock::now() + patience_.settle;
  log::every(std::chrono::seconds(10), "rabbitmq_down:" + settings_.sink, log::Level::warn, "rabbitmq is down",
             {{"sink", settings_.sink},
              {"reason", fault.reason},
              {"error", fault.detail},
              {"unconfirmed", std::to_string(in_flight)}});
  give_up(dead_ ? *dead_ : *down_);
}

void Publisher::give_up(const Outcome& outcome) {
  connection_.reset();
  give_back(take_everything(), outcome);
  for (Trial& trial : trials_) trial.open = false;
  blocked_.reset();
  blocked_given_back_ = false;
}

std::vector<Held> Publisher::take_unsent() {
  std::vector<Held> unsent;
  append(unsent, std::exchange(ready_, {}));
  for (auto& [name, exchange] : exchanges_) append(unsent, exchange.waiting);
  exchanges_.clear();
  untried_.clear();
  return unsent;
}

std::vector<Held> Publisher::take_everything() {
  std::vector<Held> all;
  for (ConfirmLedger* ledger : ledgers()) append(all, ledger->take_all());
  append(all, take_unsent());
  trying_.reset();
  return all;
}

std::array<ConfirmLedger*, 1 + Publisher::kTrials> Publisher::ledgers() {
  std::array<ConfirmLedger*, 1 + kTrials> all{&ledger_};
  for (std::size_t i = 0; i < kTrials; ++i) all[i + 1] = &trials_[i].ledger;
  return all;
}

std::size_t Publisher::unconfirmed() {
  std::size_t count = 0;
  for (const ConfirmLedger* ledger : ledgers()) count += ledger->size();
  return count;
}

void Publisher::give_back(std::vector<Held> held, const Outcome& outcome) {
  for (Held& each : held) refuse(each, outcome);
}

void Publisher::check_patience() {
  const auto now = Clock::now();
  evict_idle_exchanges();
  if (blocked_ && !blocked_given_back_ && now >= blocked_at_ + patience_.blocked) {
    blocked_given_back_ = true;
    for (ConfirmLedger* ledger : ledgers()) give_back(ledger->give_back(now), *blocked_);
    give_back(take_unsent(), *blocked_);
  }
  if (blocked_) return;
  const Outcome silent = busy(Scope::destination, "no_confirmation",
                              fmt::format("{}: not confirmed for {} s; has a quorum queue lost its majority?",
                                          settings_.endpoint(), patience_.confirm.count() / 1000));
  for (ConfirmLedger* ledger : ledgers()) give_back(ledger->give_back(now - patience_.confirm), silent);
}

}  // namespace outbox::rabbitmq
