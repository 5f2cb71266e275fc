#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/commands/commands.h"
#include "app/dead_letter_choice.h"
#include "app/operator_desk.h"
#include "app/payload_file.h"
#include "app/settings_file.h"
#include "app/unknown_sinks.h"
#include "base/json_walk.h"
#include "outbox/message.h"

namespace outbox::app {

namespace {

int refused(std::int64_t count, int replays_max) {
  fmt::print(
      stderr,
      "outboxd: {} stay dead: sent again {} times already; correct them (--payload-file), discard them, or raise "
      "dead_letters.replays\n",
      count, replays_max);
  return kAnswerIsNo;
}

// What is sent again to a sink that no relay serves would wait for ever, and keep every relay from starting.
Result<void> refuse_unnamed_sinks(OperatorDesk& desk, const DeliveryFilter& filter) {
  const auto unknown = unknown_sinks(desk.settings, desk.database);
  if (!unknown) return unknown.failure();
  for (const std::string& name : *unknown) {
    if (!filter.sink.empty() && filter.sink != name) continue;
    DeliveryFilter there = filter;
    there.sink = name;
    auto walk = desk.store->begin_walk(there);
    if (!walk) return walk.failure();
    const auto counted = desk.store->count(*walk, static_cast<int>(desk.settings.replays_max));
    if (!counted) return counted.failure();
    if (counted->changed == 0) continue;
    return Failure{FailureKind::invalid,
                   fmt::format("{} of them are for the sink '{}', which the configuration does not name: name it "
                               "again, or choose another with --sink",
                               counted->changed, name)};
  }
  return {};
}

int requeue_all(OperatorDesk& desk, const DeliveryFilter& filter, const RequeueFlags& flags) {
  const int most = static_cast<int>(desk.settings.replays_max);
  auto walk = desk.store->begin_walk(filter);
  if (!walk) return report(walk.failure());
  WalkStep sum;
  if (flags.dry_run) {
    const auto counted = desk.store->count(*walk, most);
    if (!counted) return report(counted.failure());
    sum = *counted;
    fmt::print("{} would be sent again\n", sum.changed);
  } else {
    const Act act = make_act(flags.act);
    while (!sum.end) {
      const auto step = desk.store->requeue(*walk, most, kStepRows, act);
      if (!step) {
        if (sum.changed > 0) fmt::print("{} are sent again; the others are dead letters still\n", sum.changed);
        return report(step.failure());
      }
      sum = {sum.changed + step->changed, sum.refused + step->refused, step->end};
    }
    fmt::print("{} are sent again\n", sum.changed);
  }
  return sum.refused > 0 ? refused(sum.refused, most) : kDone;
}

// The one dead letter of that id, at --sink if it is dead at several.
Result<DeliveryInfo> only_dead(OperatorStore& store, const DeliveryFilter& filter) {
  auto found = store.find(filter.message_ids, filter.sink);
  if (!found) return found.failure();
  std::erase_if(*found, [](const DeliveryInfo& each) { return each.state != "dead"; });
  const std::string& id = filter.message_ids.front();
  if (found->empty()) return Failure{FailureKind::invalid, id + " is no dead letter: there is nothing to correct"};
  if (found->size() == 1) return found->front();
  return Failure{FailureKind::invalid, fmt::format("{} is dead at {} sinks: name one with --sink", id, found->size())};
}

int send_corrected(OperatorDesk& desk, const DeliveryFilter& filter, const RequeueFlags& flags) {
  const auto payload = read_payload_file(*flags.payload_file);
  if (!payload) return report(payload.failure());
  const auto dead = only_dead(*desk.store, filter);
  if (!dead) return report(dead.failure());
  const auto record = desk.store->parked_record(dead->row);
  if (!record) return report(record.failure());
  if (*record && (*record)->payload_json && !is_json(*payload)) {
    return report({FailureKind::invalid,
                   fmt::format("{}: is not JSON, and the payload of {} is", *flags.payload_file, dead->message_id)});
  }
  const std::string new_id = flags.same_id ? "" : make_message_id();
  const int most = static_cast<int>(desk.settings.replays_max);
  const auto replaced = desk.store->replace(dead->row, new_id, *payload, most, make_act(flags.act));
  if (!replaced) return report(replaced.failure());
  if (!*replaced) {
    if (flags.same_id && dead->replays >= most) return refused(1, most);
    fmt::print(stderr, "outboxd: {} is no dead letter any more: nothing was changed\n", dead->message_id);
    return kAnswerIsNo;
  }
  if (flags.same_id) {
    fmt::print(stderr, "outboxd: {} keeps its id: a receiver that remembers the id takes it for a duplicate\n",
               dead->message_id);
  }
  fmt::print("{}\n", new_id.empty() ? dead->message_id : new_id);
  return kDone;
}

}  // namespace

int execute(const RequeueFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  const auto filter = make_filter(flags.filter, desk);
  if (!filter) return report(filter.failure());
  if (auto named = refuse_unnamed_sinks(desk, *filter); !named) return report(named.failure());
  if (flags.payload_file) return send_corrected(desk, *filter, flags);
  bool fits = true;
  if (!filter->message_ids.empty()) {
    const auto explained = explain_ids(desk, *filter, true);
    if (!explained) return report(explained.failure());
    fits = *explained;
  }
  const int code = requeue_all(desk, *filter, flags);
  return code == kDone && !fits ? kAnswerIsNo : code;
}

}  // namespace outbox::app
