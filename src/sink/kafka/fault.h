// Whose fault a failed delivery is, from librdkafka's error code.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

#include "model/outcome.h"

namespace outbox::kafka {

enum class Fault {
  message,      // this record can never be accepted
  destination,  // the topic refuses every record for now
  client,       // says nothing of the record: the producer has to be replaced
};

Fault fault_of(rd_kafka_resp_err_t error);

// Short stable word for metrics and dead letters: "too_large", "unknown_topic", "not_authorized", …
std::string_view reason_of(rd_kafka_resp_err_t error);

// The outcome of one message that failed alone, with nothing else unconfirmed.
Outcome outcome_of(rd_kafka_resp_err_t error, std::string_view topic);

}  // namespace outbox::kafka
