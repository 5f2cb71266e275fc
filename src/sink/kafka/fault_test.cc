#include "sink/kafka/fault.h"

#include <gtest/gtest.h>

namespace outbox::kafka {
namespace {

TEST(Fault, TheMessagesOwnFaultRejectsIt) {
  const Outcome outcome = outcome_of(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "orders");
  EXPECT_EQ(outcome.verdict, Verdict::rejected);
  EXPECT_EQ(outcome.reason, "too_large");
  EXPECT_NE(outcome.detail.find("topic orders"), std::string::npos);
  EXPECT_NE(outcome.detail.find("MSG_SIZE_TOO_LARGE"), std::string::npos);
  EXPECT_EQ(outcome_of(RD_KAFKA_RESP_ERR_INVALID_RECORD, "t").verdict, Verdict::rejected);
  EXPECT_EQ(outcome_of(RD_KAFKA_RESP_ERR_INVALID_MSG, "t").verdict, Verdict::rejected);
}

TEST(Fault, TheTopicsFaultWaitsForTheTopic) {
  for (auto error : {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                     RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_POLICY_VIOLATION}) {
    const Outcome outcome = outcome_of(error, "orders");
    EXPECT_EQ(outcome.verdict, Verdict::busy) << rd_kafka_err2name(error);
    EXPECT_EQ(outcome.scope, Scope::destination) << rd_kafka_err2name(error);
  }
}

TEST(Fault, WhateverElseIsTheClients) {
  for (auto error :
       {RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR_UNKNOWN}) {
    EXPECT_EQ(fault_of(error), Fault::client) << rd_kafka_err2name(error);
  }
}

}  // namespace
}  // namespace outbox::kafka
