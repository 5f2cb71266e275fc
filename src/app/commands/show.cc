#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/delivery_report.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"

namespace outbox::app {

namespace {

// As the sink gets it: a dead letter that was sent with another payload under its own id has its own.
Result<RecordPtr> record_of(OperatorStore& store, const MessageLife& life, const std::string& sink) {
  for (const DeliveryInfo& each : life.deliveries) {
    if (each.row == 0 || (!sink.empty() && each.sink != sink)) continue;
    auto record = store.parked_record(each.row);
    if (!record || *record) return record;
  }
  return life.record;
}

int print_payload(OperatorStore& store, const MessageLife& life, const ShowFlags& flags) {
  const auto record = record_of(store, life, flags.sink);
  if (!record) return report(record.failure());
  if (!*record) {
    fmt::print(stderr, "outboxd: the payload of {} is not kept any more\n", flags.id);
    return kAnswerIsNo;
  }
  std::fwrite((*record)->payload.data(), 1, (*record)->payload.size(), stdout);
  return kDone;
}

}  // namespace

int execute(const ShowFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  const auto life = desk.store->life(flags.id, route_filters(desk.settings));
  if (!life) return report(life.failure());
  if (!life->record && life->deliveries.empty() && life->audit.empty()) {
    fmt::print(stderr, "outboxd: no message {} is known: it never was, or retention has deleted it\n", flags.id);
    return kAnswerIsNo;
  }
  if (flags.payload) return print_payload(*desk.store, *life, flags);
  fmt::print("{}", flags.json ? life_json(flags.id, *life) + "\n" : life_text(flags.id, *life));
  return kDone;
}

}  // namespace outbox::app
