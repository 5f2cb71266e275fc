// Publisher: publications into the broker and confirmations out of it, over one Connection at a time.
//
// - Messages are published one behind the other on one channel, many in flight. Each is persistent and mandatory.
// - An exchange is tried first: its first message goes on a channel of its own, with a question behind it. If the
// broker
//   closes that channel (no such exchange, no permission) the culprit is known exactly, and nothing else is lost; if it
//   answers the question, the exchange is open and the rest goes the usual way. The message's confirmation may take
//   longer than the answer; then the next exchange is tried on another channel.
// - If the common channel is closed all the same, what is unconfirmed comes back as client_dead and nothing passes
// until
//   restart(); with a single message on it, that is to blame and nobody else pays.
// - Without a connection one is made when there is something to publish. If that fails, or it is lost, everything
//   comes back as busy(sink).
// - While the broker says that it is blocked everything comes back as busy(sink), after a moment. What it had been sent
//   by then is listened for: published again, it is not sent twice (ConfirmLedger::adopt).
//
// One thread. step() may block as Connection says.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sink/rabbitmq/confirm_ledger.h"
#include "sink/rabbitmq/connection.h"
#include "sink/rabbitmq/settings.h"
#include "sink/sink.h"

namespace outbox::rabbitmq {

class Publisher {
 public:
  Publisher(const Settings& settings, Patience patience, Lifeline& lifeline);

  void add(std::span<const Publication> published);
  // Connects, or reads and writes, as far as it goes without waiting for the broker's confirmations.
  void step();
  std::vector<Completion> take_outcomes() { return std::exchange(outcomes_, {}); }

  // Gives back everything with this outcome, without a connection afterwards.
  void give_up(const Outcome& outcome);
  // As give_up(); then a new client takes what comes.
  void restart(const Outcome& outcome);
  // Gives back everything with this outcome and ends the connection in an orderly way.
  void close(const Outcome& outcome);

  // What to wait for before the next step(): -1 if there is no connection.
  int descriptor() const { return connection_ ? connection_->descriptor() : -1; }
  bool wants_to_write() const { return wants_to_write_; }
  bool has_more_to_do() const { return has_more_to_do_; }
  std::chrono::milliseconds patience() const;

 private:
  struct Exchange {
    bool open = false;
    std::deque<Held> waiting;  // until it is tried
  };
  struct Trial {
    Channel channel = 0;
    bool open = false;
    ConfirmLedger ledger;
  };
  static constexpr std::size_t kTrials = 4;

  // publisher.cc
  void accept(Held held);
  void refuse(Held& held, Outcome outcome);
  bool connect();
  void write();
  std::optional<Outcome> send(Channel channel, ConfirmLedger& ledger, Held& held);
  void try_exchanges();
  Trial* free_trial();
  bool send_trial(Trial& trial, const std::string& name, Exchange& exchange);
  bool lost(const std::optional<Fault>& fault);
  void evict_idle_exchanges();

  // publisher_events.cc
  void read();
  void handle(const Event& event);
  void on_blocked(const std::string& why);
  void on_trial_passed();
  void on_trial_failed(Trial& trial, const Event& closed);
  void on_channel_lost(const Event& closed);
  void blame(Held& held, const Event& closed);
  void close_exchange(const std::string& name, const Outcome& outcome);
  void on_lost(const Fault& fault);
  void check_patience();
  std::vector<Held> take_unsent();
  std::vector<Held> take_everything();
  void give_back(std::vector<Held> held, const Outcome& outcome);
  std::array<ConfirmLedger*, 1 + kTrials> ledgers();
  std::size_t unconfirmed();

  const Settings& settings_;
  const Patience patience_;
  Lifeline& lifeline_;

  std::unique_ptr<Connection> connection_;
  std::vector<Completion> outcomes_;
  std::deque<Held> ready_;  // for exchanges that are open
  std::unordered_map<std::string, Exchange> exchanges_;
  std::deque<std::string> untried_;    // exchanges with something waiting
  std::optional<std::string> trying_;  // the exchange that is on trial
  Channel trying_on_ = 0;
  ConfirmLedger ledger_;  // of the common channel
  std::array<Trial, kTrials> trials_;
  bool wants_to_write_ = false;
  bool has_more_to_do_ = false;

  std::optional<Outcome> dead_;  // until restart()
  std::optional<Outcome> down_;  // the connection failed; until down_until_ no other one is tried
  Clock::time_point down_until_{};
  std::optional<Outcome> blocked_;
  Clock::time_point blocked_at_{};
  bool blocked_given_back_ = false;
};

}  // namespace outbox::rabbitmq
