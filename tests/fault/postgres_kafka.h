// PostgreSQL → Kafka with the real daemon: a fixture that trades, kills and judges.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "app/checker.h"
#include "fault/postgres_shop.h"
#include "support/daemon.h"
#include "support/kafka_topic.h"
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
  void note_death() { lives_.back().killed_ms = now_ms(); }

  // One more life, that nothing happens to: what is committed in it has to arrive exactly once. Ends by SIGTERM.
  void trade_in_peace();

  struct Judgement {
    Findings findings;
    std::vector<KafkaMessage> arrivals;
    std::vector<PostgresShop::Entry> ledger;
  };
  // Stops the shop, delivers the rest with `run --once`, and lets the checker judge: all of it is a failure of the
  // test, but duplicates are only counted.
  Judgement drain();

  // Stops the shop, delivers the rest with `run --once`, and lets the checker judge. Prints a line per life that was
  // killed. Returns how many kills found something in flight, of a relay that had published: sent and not settled, or
  // committed and not sent.
  int drain_and_judge();

  static std::int64_t now_ms();

  std::optional<Service> through_;  // a pooler between the relays and the database, before SetUp
  std::string more_options_;        // lines of the configuration, before SetUp
  std::string brokers_;
  std::unique_ptr<PostgresDatabase> database_;
  std::unique_ptr<KafkaTopic> topic_;
  std::unique_ptr<PostgresShop> shop_;
  Daemon daemon_;
  std::vector<Life> lives_;
  std::int64_t peace_ms_ = 0;  // 0: there was none

 private:
  void expect_single(const std::vector<KafkaMessage>& arrivals, const std::vector<PostgresShop::Entry>& ledger) const;
  int tell_of_kills(const std::vector<KafkaMessage>& arrivals, const std::vector<PostgresShop::Entry>& ledger) const;
};

inline std::string server_name(const testing::TestParamInfo<Service>& server) {
  return server.param == Service::postgresql ? "debian" : "newest";
}

}  // namespace outbox::test
