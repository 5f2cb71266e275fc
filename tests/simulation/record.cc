#include "record.h"

namespace outbox::sim {

RecordPtr make_record(const Message& message, const Scenario& scenario, const Reading& reading) {
  auto record = std::make_shared<Record>();
  record->seq = scenario.mode == Mode::mark && !scenario.shares_seq ? 0 : message.seq;
  record->xid = scenario.mode == Mode::snapshot ? message.xid : 0;
  record->id = message.id;
  record->aggregate_type = message.type;
  record->aggregate_id = message.aggregate;
  record->key = message.key;
  record->type = "Changed";
  record->payload.assign(message.kind == MessageKind::too_large ? 1000u : 20u, 'x');
  record->traceparent = (reading.origin == Origin::stream ? "s" : "p") + std::to_string(reading.step);
  record->created_at = message.created_at;
  record->not_before = message.not_before;
  record->aggregate_version = message.n;
  record->schema_version = reading.version;
  return record;
}

Reading reading_of(const Record& record) {
  return {record.traceparent.front() == 's' ? Origin::stream : Origin::parked,
          std::stoull(record.traceparent.substr(1)), record.schema_version.value_or(1)};
}

}  // namespace outbox::sim
