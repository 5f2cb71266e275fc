#include "sink/kafka/fault.h"

#include <fmt/core.h>

#include <array>

namespace outbox::kafka {
namespace {

struct Known {
  rd_kafka_resp_err_t error;
  Fault fault;
  std::string_view reason;
};

constexpr std::array kKnown{
    Known{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Fault::message, "too_large"},
    Known{RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, Fault::message, "too_large"},
    Known{RD_KAFKA_RESP_ERR_INVALID_RECORD, Fault::message, "invalid_record"},
    Known{RD_KAFKA_RESP_ERR_INVALID_MSG, Fault::message, "invalid_record"},
    Known{RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE, Fault::message, "invalid_record"},
    Known{RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, Fault::message, "invalid_timestamp"},
    Known{RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, Fault::message, "invalid_topic"},
    Known{RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, Fault::destination, "unknown_topic"},
    Known{RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, Fault::destination, "unknown_topic"},
    Known{RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, Fault::destination, "unknown_topic"},
    Known{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Fault::destination, "not_authorized"},
    Known{RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, Fault::destination, "not_authorized"},
    Known{RD_KAFKA_RESP_ERR_POLICY_VIOLATION, Fault::destination, "policy_violation"},
    Known{RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, Fault::destination, "invalid_acks"},
    Known{RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, Fault::destination, "message_format"},
};

const Known* find(rd_kafka_resp_err_t error) {
  for (const Known& known : kKnown) {
    if (known.error == error) return &known;
  }
  return nullptr;
}

}  // namespace

Fault fault_of(rd_kafka_resp_err_t error) {
  const Known* known = find(error);
  return known ? known->fault : Fault::client;
}

std::string_view reason_of(rd_kafka_resp_err_t error) {
  const Known* known = find(error);
  return known ? known->reason : "client_failed";
}

Outcome outcome_of(rd_kafka_resp_err_t error, std::string_view topic) {
  std::string reason(reason_of(error));
  std::string detail = fmt::format("topic {}: {} ({})", topic, rd_kafka_err2str(error), rd_kafka_err2name(error));
  switch (fault_of(error)) {
    case Fault::message: return rejected(std::move(reason), std::move(detail));
    case Fault::destination: return busy(Scope::destination, std::move(reason), std::move(detail));
    case Fault::client: break;
  }
  return client_dead(std::move(reason), std::move(detail));
}

}  // namespace outbox::kafka
