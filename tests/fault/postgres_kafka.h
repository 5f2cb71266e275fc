// PostgreSQL → Kafka with the real daemon: a fixture that trades, kills and judges.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "fault/trial.h"
#include "support/services.h"

namespace outbox::test {

// One life of a relay, from its start to the start of the next, by the clock of this machine.
struct Life {
  std::int64_t started_ms = 0;
  std::int64_t killed_ms = 0;
};

class PostgresKafka : public testing::TestWithParam<Service> {
 protected:
  void SetUp() override;

  // Starts a relay and notes it as a life of its own.
  std::unique_ptr<ChildProcess> start_relay(const std::vector<std::string>& before = {});
  void kill(ChildProcess& relay);
  void note_death() { lives_.back().killed_ms = wall_clock_ms(); }

  // One more life, that nothing happens to: what is committed in it has to arrive exactly once. Ends by SIGTERM.
  void trade_in_peace();

  // Stops the shop, delivers the rest with `run --once`, and lets the checker judge: all of it is a failure of the
  // test, but duplicates are only counted.
  Verdict drain();

  // The same. Prints a line per life that was killed. Returns how many kills found something in flight, of a relay
  // that had published: sent and not settled, or committed and not sent.
  int drain_and_judge();

  PostgresDatabase& database() { return trial_->database(); }
  FarEnd& topic() { return trial_->far_end(); }
  PostgresShop& shop() { return trial_->shop(); }

  std::optional<Service> through_;  // a pooler between the relays and the database, before SetUp
  std::string more_options_;        // lines of the configuration, before SetUp
  std::unique_ptr<Trial> trial_;

 private:
  void expect_single(const Verdict& verdict) const;
  int tell_of_kills(const Verdict& verdict) const;

  std::vector<Life> lives_;
  std::int64_t peace_ms_ = 0;  // 0: there was none
};

inline std::string server_name(const testing::TestParamInfo<Service>& server) {
  return server.param == Service::postgresql ? "debian" : "newest";
}

}  // namespace outbox::test
