#include "sink/rabbitmq/confirm_ledger.h"

#include <gtest/gtest.h>

namespace outbox::rabbitmq {
namespace {

using namespace std::chrono_literals;

const Clock::time_point kStart{};

Held message(DeliveryId id, const std::string& payload = "{}") {
  auto record = std::make_shared<Record>();
  record->id = "m-" + std::to_string(id);
  record->payload = payload;
  return {id, record, {"order", "Placed"}};
}

class RabbitMqConfirmLedger : public testing::Test {
 protected:
  void add(DeliveryId from, DeliveryId to) {
    for (DeliveryId id = from; id <= to; ++id) ledger_.add(message(id), kStart + id * 1s);
  }
  // "1+ 2-unroutable", in the order in which they were reported.
  std::string confirm(std::uint64_t tag, bool multiple, bool acked) {
    std::vector<Completion> outcomes;
    ledger_.confirmed(tag, multiple, acked, outcomes);
    std::string text;
    for (const auto& [id, outcome] : outcomes) {
      if (!text.empty()) text += ' ';
      text += std::to_string(id) + (outcome.verdict == Verdict::delivered ? "+" : "-" + outcome.reason);
    }
    return text;
  }
  static std::string ids(const std::vector<Held>& held) {
    std::string text;
    for (const Held& each : held) text += std::to_string(each.id) + " ";
    return text;
  }
  ConfirmLedger::Adoption again(DeliveryId id, DeliveryId message_id, const std::string& payload = "{}") {
    Held held = message(message_id, payload);
    held.id = id;
    return ledger_.adopt(held, kStart + 100s);
  }

  ConfirmLedger ledger_;
};

using Adoption = ConfirmLedger::Adoption;

// Case B137.
TEST_F(RabbitMqConfirmLedger, MultipleAndOutOfOrder) {
  add(1, 5);
  EXPECT_EQ(confirm(3, true, true), "1+ 2+ 3+");
  EXPECT_EQ(confirm(5, false, false), "5-nack");
  EXPECT_EQ(confirm(4, false, true), "4+");
  EXPECT_TRUE(ledger_.empty());
}

TEST_F(RabbitMqConfirmLedger, MultipleNacksAndAcksThatOvertake) {
  add(1, 6);
  EXPECT_EQ(confirm(4, false, false), "4-nack");
  EXPECT_EQ(confirm(2, true, false), "1-nack 2-nack");
  EXPECT_EQ(confirm(6, true, true), "3+ 5+ 6+");
}

TEST_F(RabbitMqConfirmLedger, TagsThatAreNotKnownSayNothing) {
  add(1, 2);
  EXPECT_EQ(confirm(7, false, true), "");
  EXPECT_EQ(confirm(1, false, true), "1+");
  EXPECT_EQ(confirm(1, false, true), "");
  EXPECT_EQ(confirm(9, true, true), "2+");
}

// Case B133.
TEST_F(RabbitMqConfirmLedger, WhatIsReturnedIsNotDeliveredThoughItIsAcked) {
  add(1, 3);
  ledger_.returned("m-2", "no queue");
  EXPECT_EQ(confirm(3, true, true), "1+ 2-unroutable 3+");
}

TEST_F(RabbitMqConfirmLedger, AReturnMeansTheOldestOfTheSameId) {
  ledger_.add(message(1), kStart);
  Held twin = message(1);
  twin.id = 2;
  ledger_.add(twin, kStart);
  ledger_.returned("m-1", "no queue");
  EXPECT_EQ(confirm(1, false, true), "1-unroutable");
  ledger_.returned("m-1", "no queue");
  ledger_.returned("m-1", "no queue");
  ledger_.returned("m-9", "no queue");
  EXPECT_EQ(confirm(2, false, true), "2-unroutable");
}

TEST_F(RabbitMqConfirmLedger, ANewChannelBeginsAnew) {
  add(1, 3);
  EXPECT_EQ(confirm(2, false, true), "2+");
  EXPECT_EQ(ids(ledger_.take_all()), "1 3 ");
  EXPECT_TRUE(ledger_.empty());
  add(7, 7);
  EXPECT_EQ(confirm(1, false, true), "7+");
}

TEST_F(RabbitMqConfirmLedger, WhatWasGivenBackIsNotSentTwice) {
  add(1, 4);
  EXPECT_EQ(ids(ledger_.give_back(kStart + 4s)), "1 2 3 ");
  EXPECT_EQ(ledger_.size(), 1u);
  EXPECT_EQ(again(11, 1), Adoption::waits);
  EXPECT_EQ(confirm(2, true, true), "11+");
  EXPECT_EQ(again(12, 2), Adoption::delivered) << "it was confirmed while nobody held it";
  EXPECT_EQ(again(13, 2), Adoption::none) << "once";
  EXPECT_EQ(confirm(3, false, false), "");
  EXPECT_EQ(again(14, 3), Adoption::none) << "it was refused: it has to be sent again";
  EXPECT_EQ(confirm(4, false, true), "4+");
  EXPECT_TRUE(ledger_.empty());
}

TEST_F(RabbitMqConfirmLedger, WhatWasGivenBackIsReturnedToWhoHoldsIt) {
  add(1, 2);
  ledger_.give_back(kStart + 10s);
  EXPECT_EQ(again(11, 1), Adoption::waits);
  ledger_.returned("m-1", "no queue");
  ledger_.returned("m-2", "no queue");
  EXPECT_EQ(confirm(2, true, true), "11-unroutable");
  EXPECT_EQ(again(12, 2), Adoption::none);
}

TEST_F(RabbitMqConfirmLedger, ACorrectedMessageOfTheSameIdIsAnotherOne) {
  add(1, 1);
  ledger_.give_back(kStart + 10s);
  EXPECT_EQ(again(11, 1, "corrected"), Adoption::none);
  Held corrected = message(1, "corrected");
  corrected.id = 11;
  ledger_.add(corrected, kStart + 11s);
  EXPECT_EQ(ids(ledger_.give_back(kStart + 20s)), "11 ");
  EXPECT_EQ(confirm(2, true, true), "");
  EXPECT_EQ(again(12, 1, "corrected"), Adoption::delivered);
}

TEST_F(RabbitMqConfirmLedger, ALostChannelForgetsWhatWasGivenBack) {
  add(1, 2);
  ledger_.give_back(kStart + 10s);
  EXPECT_EQ(ids(ledger_.take_all()), "");
  EXPECT_EQ(again(11, 1), Adoption::none);
}

}  // namespace
}  // namespace outbox::rabbitmq
