#include "app/delivery_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace outbox::app {

namespace {

std::string seconds_of(Time time) { return to_rfc3339(time).substr(0, 19) + "Z"; }

std::string error_of(const DeliveryInfo& delivery) {
  if (delivery.row == 0) return {};
  return one_line(delivery.error.empty() ? delivery.reason : delivery.reason + ": " + delivery.error);
}

bool parked(const DeliveryInfo& delivery) { return delivery.row != 0; }

std::string plural(int count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

// "replaced by 0197… at … by ana@desk: the street was missing"
std::string closed_line(const DeliveryInfo& delivery) {
  std::string line = delivery.reason;
  if (!delivery.replaced_by.empty()) line += " by " + delivery.replaced_by;
  line += " at " + seconds_of(delivery.changed_at);
  if (!delivery.closed_by.empty()) line += " by " + one_line(delivery.closed_by);
  if (!delivery.closed_reason.empty()) line += ": " + one_line(delivery.closed_reason);
  return line;
}

std::string passed_line(const DeliveryInfo& delivery) {
  if (delivery.state == "pending") return "pending: not sent yet";
  if (delivery.state == "skipped") return "skipped: never sent; it was there before the sink began, with from: now";
  if (delivery.state == "finished") {
    return "finished: sent again " + seconds_of(delivery.changed_at) +
           " and not parked any more: delivered, unless dead_letters.retain or `sink forget` took it";
  }
  return delivery.passed_at ? "sent, marked " + seconds_of(*delivery.passed_at)
                            : "sent: passed by the sink's position, which is all that is recorded";
}

// "dead since …: http_422: …, 1 attempt, replayed twice, holds its key, owner billing"
std::string parked_line(const DeliveryInfo& delivery) {
  if (delivery.state == "done") return "delivered " + seconds_of(delivery.changed_at) + " from the parked deliveries";
  std::string line = fmt::format("{} since {}", delivery.state, seconds_of(delivery.changed_at));
  if (const auto error = error_of(delivery); !error.empty()) line += ": " + error;
  line += fmt::format("; {}", plural(delivery.attempts, "attempt"));
  if (delivery.replays > 0) line += fmt::format(", replayed {}", plural(delivery.replays, "time"));
  if (delivery.holds_key) line += ", holds its key";
  if (!delivery.owner.empty()) line += ", owner " + delivery.owner;
  if (delivery.state == "waiting") {
    line += delivery.next_attempt ? ", next attempt " + seconds_of(*delivery.next_attempt) : ", behind its key";
  }
  return line;
}

std::string delivery_line(const DeliveryInfo& delivery) {
  std::string line = delivery.state == "discarded" ? closed_line(delivery)
                     : parked(delivery)            ? parked_line(delivery)
                                                   : passed_line(delivery);
  if (!delivery.replaces.empty()) line += "; in place of " + delivery.replaces;
  return line;
}

std::string audit_line(const AuditEntry& entry) {
  std::string line = fmt::format("{}  {} by {}", seconds_of(entry.at), entry.action, entry.actor);
  if (!entry.sink.empty()) line += " (" + entry.sink + ")";
  if (!entry.reason.empty()) line += ": " + one_line(entry.reason);
  if (!entry.detail.empty()) line += "; " + one_line(entry.detail);
  return line;
}

void time_json(JsonWriter& json, const char* name, const std::optional<Time>& time) {
  json.key(name);
  time ? json.value(to_rfc3339(*time)) : json.null();
}

void delivery_json(JsonWriter& json, const DeliveryInfo& delivery) {
  json.begin_object().key("state").value(delivery.state).key("id").value(delivery.message_id);
  json.key("sink").value(delivery.sink).key("aggregate_type").value(delivery.aggregate_type);
  json.key("aggregate_id").value(delivery.aggregate_id).key("type").value(delivery.type);
  json.key("created_at").value(to_rfc3339(delivery.created_at));
  if (delivery.passed_at) time_json(json, "sent_at", delivery.passed_at);
  if (parked(delivery)) {
    json.key("attempts").value(delivery.attempts).key("replays").value(delivery.replays);
    json.key("reason").value(delivery.reason).key("error").value(delivery.error).key("owner").value(delivery.owner);
    json.key("holds_key").value(delivery.holds_key);
    json.key("parked_at").value(to_rfc3339(delivery.parked_at));
    json.key("changed_at").value(to_rfc3339(delivery.changed_at));
    time_json(json, "next_attempt_at", delivery.next_attempt);
  } else if (delivery.state == "discarded") {
    json.key("reason").value(delivery.reason).key("changed_at").value(to_rfc3339(delivery.changed_at));
  }
  if (!delivery.closed_by.empty()) {
    json.key("closed_by").value(delivery.closed_by).key("closed_reason").value(delivery.closed_reason);
  }
  if (!delivery.replaced_by.empty()) json.key("replaced_by").value(delivery.replaced_by);
  if (!delivery.replaces.empty()) json.key("replaces").value(delivery.replaces);
  json.end_object();
}

void message_json(JsonWriter& json, const MessageLife& life) {
  const Record& record = *life.record;
  json.begin_object().key("aggregate_type").value(record.aggregate_type);
  json.key("aggregate_id").value(record.aggregate_id).key("type").value(record.type);
  json.key("created_at").value(to_rfc3339(record.created_at));
  time_json(json, "not_before", record.not_before);
  json.key("headers").raw(record.headers.empty() ? "{}" : record.headers);
  json.key("payload_bytes").value(record.payload.size()).key("payload_is_json").value(record.payload_json);
  json.key("in_outbox_table").value(life.in_table).end_object();
}

}  // namespace

std::string deliveries_text(const std::vector<DeliveryInfo>& deliveries, bool more) {
  std::string text = fmt::format("{:<36}  {:<16} {:<24} {:<20} {:<20} {:>8} {:>7}  {}\n", "ID", "SINK", "KEY", "TYPE",
                                 "SINCE", "ATTEMPTS", "REPLAYS", "OWNER, REASON: ERROR");
  for (const DeliveryInfo& each : deliveries) {
    const std::string key = one_line(each.aggregate_type + ":" + each.aggregate_id);
    const auto since = seconds_of(parked(each) ? each.changed_at : each.created_at);
    const auto count = [&](int number) { return parked(each) ? std::to_string(number) : std::string("-"); };
    text += fmt::format("{:<36}  {:<16} {:<24} {:<20} {:<20} {:>8} {:>7}  {}{}{}\n", each.message_id, each.sink, key,
                        one_line(each.type), since, count(each.attempts), count(each.replays), each.owner,
                        each.owner.empty() || error_of(each).empty() ? "" : ", ", error_of(each));
  }
  if (deliveries.empty()) text = "none\n";
  if (more) text += fmt::format("the first {}; there are more (--limit)\n", deliveries.size());
  return text;
}

std::string deliveries_json(const std::vector<DeliveryInfo>& deliveries, bool more) {
  JsonWriter json;
  json.begin_object().key("deliveries").begin_array();
  for (const DeliveryInfo& each : deliveries) delivery_json(json, each);
  json.end_array().key("more").value(more).end_object();
  return json.text();
}

std::string life_text(const std::string& message_id, const MessageLife& life) {
  std::string text = "message  " + message_id + "\n";
  if (life.record) {
    const Record& record = *life.record;
    text += fmt::format("key      {}\ntype     {}\ncreated  {}\n", one_line(record.key), one_line(record.type),
                        seconds_of(record.created_at));
    if (record.not_before) text += "not before  " + seconds_of(*record.not_before) + "\n";
    if (!record.headers.empty() && record.headers != "{}") text += "headers  " + one_line(record.headers) + "\n";
    text += fmt::format("payload  {} bytes of {} (show ID --payload prints them)\n", record.payload.size(),
                        record.payload_json ? "JSON" : "binary data");
  }
  if (!life.in_table) text += "         the outbox table does not have it (any more)\n";
  text += "\n";
  for (const DeliveryInfo& each : life.deliveries) text += fmt::format("{:<16} {}\n", each.sink, delivery_line(each));
  if (life.deliveries.empty()) text += "no sink is known to get it\n";
  if (!life.audit.empty()) text += "\n";
  for (const AuditEntry& entry : life.audit) text += audit_line(entry) + "\n";
  return text;
}

std::string life_json(const std::string& message_id, const MessageLife& life) {
  JsonWriter json;
  json.begin_object().key("id").value(message_id).key("message");
  life.record ? message_json(json, life) : static_cast<void>(json.null());
  json.key("deliveries").begin_array();
  for (const DeliveryInfo& each : life.deliveries) delivery_json(json, each);
  json.end_array().key("audit").begin_array();
  for (const AuditEntry& entry : life.audit) {
    json.begin_object().key("at").value(to_rfc3339(entry.at)).key("actor").value(entry.actor);
    json.key("action").value(entry.action).key("sink").value(entry.sink).key("reason").value(entry.reason);
    json.key("detail").value(entry.detail).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace outbox::app
