// How a simulated message travels through the relay: its number n, the version of its payload, and where and when it
// was read stand in fields that the relay only passes on.
#pragma once

#include <cstdint>

#include "database.h"
#include "model/record.h"

namespace outbox::sim {

enum class Origin { stream, parked };

struct Reading {
  Origin origin = Origin::stream;
  std::uint64_t step = 0;  // Loop::step() at the read
  int version = 1;
};

RecordPtr make_record(const Message& message, const Scenario& scenario, const Reading& reading);
Reading reading_of(const Record& record);

}  // namespace outbox::sim
