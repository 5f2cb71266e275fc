#include "sink/rabbitmq/publisher.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"

namespace outbox::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr Channel kMain = 1;
constexpr std::size_t kExchangesMax = 1'000;
constexpr int kAtOnce = 100;  // messages written before it is looked at what the broker says

}  // namespace

Publisher::Publisher(const Settings& settings, Patience patience, Lifeline& lifeline)
    : settings_(settings), patience_(patience), lifeline_(lifeline) {
  Channel channel = kMain;
  for (Trial& trial : trials_) trial.channel = ++channel;
}

void Publisher::add(std::span<const Publication> published) {
  const auto now = Clock::now();
  for (const Publication& publication : published) {
    Held held{publication.id, publication.record, {}};
    if (dead_) {
      refuse(held, *dead_);
    } else if (down_ && now < down_until_) {
      refuse(held, *down_);
    } else if (auto address = parse_address(publication.destination)) {
      held.address = std::move(*address);
      accept(std::move(held));
    } else {
      refuse(held, rejected("invalid_address", "'" + publication.destination + "' is not exchange/routing key"));
    }
  }
}

void Publisher::refuse(Held& held, Outcome outcome) { outcomes_.push_back({held.id, std::move(outcome)}); }

void Publisher::accept(Held held) {
  const Record& record = *held.record;
  if (auto outcome = refuse_address(held.address)) return refuse(held, std::move(*outcome));
  if (record.payload_null) return refuse(held, rejected("null_payload", "the payload is NULL; a message has a body"));
  if (record.payload.size() > settings_.payload_max) {
    return refuse(held, rejected("too_large", fmt::format("payload of {} bytes; payload_max allows {}",
                                                          record.payload.size(), settings_.payload_max)));
  }
  for (ConfirmLedger* ledger : ledgers()) {
    const auto adoption = ledger->adopt(held, Clock::now());
    if (adoption == ConfirmLedger::Adoption::delivered) return refuse(held, delivered(receipt(held.address)));
    if (adoption == ConfirmLedger::Adoption::none) continue;
    if (blocked_given_back_) give_back(ledger->give_back(Clock::time_point::max()), *blocked_);
    return;
  }
  if (blocked_given_back_) return refuse(held, *blocked_);
  Exchange& exchange = exchanges_[held.address.exchange];
  if (exchange.open) {
    ready_.push_back(std::move(held));
    return;
  }
  if (exchange.waiting.empty() && trying_ != held.address.exchange) untried_.push_back(held.address.exchange);
  exchange.waiting.push_back(std::move(held));
}

void Publisher::step() {
  has_more_to_do_ = false;
  wants_to_write_ = false;
  const bool unsent = !ready_.empty() || !untried_.empty();
  if (!connection_) {
    has_more_to_do_ = unsent && connect();  // which takes long: the relay may have taken back what is to be sent
    return;
  }
  read();
  if (connection_ && !blocked_) write();
  if (connection_ && !blocked_) try_exchanges();
  if (connection_) check_patience();
}

bool Publisher::connect() {
  auto opened = Connection::open(settings_, patience_.write, lifeline_);
  if (const auto* fault = std::get_if<Fault>(&opened)) return !lost(*fault);
  connection_ = std::move(std::get<0>(opened));
  if (lost(connection_->open_channel(kMain))) return false;
  if (std::exchange(down_, std::nullopt)) log::info("rabbitmq is back", {{"sink", settings_.sink}});
  return true;
}

void Publisher::write() {
  for (int written = 0; !ready_.empty(); ++written) {
    if (written == kAtOnce) {
      has_more_to_do_ = true;
      return;
    }
    if (!connection_->has_room()) {
      wants_to_write_ = true;
      return;
    }
    Held held = std::move(ready_.front());
    ready_.pop_front();
    if (auto outcome = send(kMain, ledger_, held)) refuse(held, std::move(*outcome));
    if (!connection_) return;
  }
}

// An outcome if the message itself cannot be sent. The connection may be gone afterwards.
std::optional<Outcome> Publisher::send(Channel channel, ConfirmLedger& ledger, Held& held) {
  const RecordPtr record = held.record;
  const Address address = held.address;
  Result<HeaderList> headers = wire_headers(*record);
  if (!headers) return rejected("bad_headers", headers.failure().what);
  const Properties properties(*record, *headers);
  if (auto outcome = properties.refusal(connection_->frame_max())) return outcome;
  ledger.add(std::move(held), Clock::now());
  lost(connection_->publish(channel, address.exchange, address.routing_key, properties, record->payload));
  return std::nullopt;
}

void Publisher::try_exchanges() {
  while (connection_ && !trying_ && !untried_.empty()) {
    if (!connection_->has_room()) {
      wants_to_write_ = true;
      return;
    }
    Trial* const trial = free_trial();
    if (trial == nullptr) return;
    if (!trial->open) {
      if (lost(connection_->open_channel(trial->channel))) return;
      trial->open = true;
    }
    const std::string name = std::move(untried_.front());
    untried_.pop_front();
    const auto exchange = exchanges_.find(name);
    if (!send_trial(*trial, name, exchange->second) && connection_) exchanges_.erase(exchange);
  }
}

// One on which nothing waits for its confirmation: a failure there costs nobody else.
Publisher::Trial* Publisher::free_trial() {
  const auto found = std::ranges::find_if(trials_, [](const Trial& each) { return each.ledger.empty(); });
  return found == trials_.end() ? nullptr : &*found;
}

// False if nothing that waits for the exchange could be sent, or the connection is gone.
bool Publisher::send_trial(Trial& trial, const std::string& name, Exchange& exchange) {
  while (!exchange.waiting.empty()) {
    Held held = std::move(exchange.waiting.front());
    exchange.waiting.pop_front();
    if (auto outcome = send(trial.channel, trial.ledger, held)) {
      refuse(held, std::move(*outcome));
      continue;
    }
    if (!connection_ || lost(connection_->mark(trial.channel))) return false;
    trying_ = name;
    trying_on_ = trial.channel;
    return true;
  }
  return false;
}

// A route may put any field into its exchange: names that come to nothing must not pile up.
void Publisher::evict_idle_exchanges() {
  if (exchanges_.size() < kExchangesMax) return;
  std::erase_if(exchanges_, [&](const auto& each) { return each.second.waiting.empty() && each.first != trying_; });
}

void Publisher::restart(const Outcome& outcome) {
  give_up(outcome);
  dead_.reset();
  down_.reset();
}

void Publisher::close(const Outcome& outcome) {
  const bool calm = connection_ && !blocked_ && connection_->has_room();
  if (calm) connection_->say_goodbye();
  give_up(outcome);
}

std::chrono::milliseconds Publisher::patience() const {
  const bool in_flight =
      !ledger_.empty() || std::ranges::any_of(trials_, [](const Trial& each) { return !each.ledger.empty(); });
  const bool waits = blocked_ || in_flight;
  const auto heartbeat = std::chrono::milliseconds(settings_.heartbeat) / 4;
  return waits ? std::min<std::chrono::milliseconds>(heartbeat, 200ms) : heartbeat;
}

}  // namespace outbox::rabbitmq
