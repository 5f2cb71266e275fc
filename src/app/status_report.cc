#include "app/status_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"

namespace outbox::app {

namespace {

// "3s", "5m", "2h", "4d": as much as one wants to know at a glance.
std::string age(Time since, Time now) {
  const auto seconds = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", seconds / 60);
  if (seconds < 172'800) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86'400);
}

bool is_over(const SinkLine& line, const std::optional<Time>& at) {
  return at && line.stored.parked.waiting == 0 && line.stored.parked.dead == 0 && line.live.last_delivery > *at;
}

// "http_422: no such order (3h ago; said by relay shop:4711, which no longer runs)".
std::string error_text(const SinkLine& line, Time now) {
  const LastError error = last_error(line);
  if (error.what.empty()) return "";
  std::vector<std::string> notes;
  if (error.at) notes.push_back(age(*error.at, now) + " ago");
  if (!error.relay.empty() && !line.alive) notes.push_back("said by relay " + error.relay + ", which no longer runs");
  const std::string what = one_line(error.what);
  return notes.empty() ? what : fmt::format("{} ({})", what, join(notes, "; "));
}

std::string sink_row(const std::string& name, const SinkLine& line, Time now) {
  const auto oldest = line.stored.oldest_waiting ? age(*line.stored.oldest_waiting, now) : "-";
  return fmt::format("{:<20} {:<10} {:>9} {:>9} {:>7} {:>10} {:>9}  {}\n", name,
                     line.alive ? line.live.breaker : "no relay", line.stored.parked.waiting, line.stored.parked.dead,
                     oldest, line.alive ? std::to_string(line.live.in_flight) : "-",
                     line.alive ? fmt::format("{:.1f}", line.live.rate) : "-", error_text(line, now));
}

bool alive(const StoreStatus& store, const std::string& relay) {
  return std::any_of(store.relays.begin(), store.relays.end(),
                     [&](const RelayStatus& each) { return each.name == relay && is_alive(each, store.database_now); });
}

// A lease that runs on, or (SQLite, which has none) a heartbeat. An old owner whose lease has run out has nothing.
bool is_owned(const ShareStatus& share, const StoreStatus& store) {
  if (share.relay.empty()) return false;
  return share.until ? *share.until > store.database_now : !store.has_leases && alive(store, share.relay);
}

std::string share_row(const ShareStatus& share, const StoreStatus& store) {
  const bool owned = is_owned(share, store);
  const std::string lease = owned && share.until ? age(store.database_now, *share.until) : "-";
  return fmt::format("{:<20} {:>7} {:>7}  {}\n", share.feed, to_string(share.lanes), lease,
                     owned ? share.relay : "nobody");
}

void optional_time(JsonWriter& json, std::string_view key, const std::optional<Time>& time) {
  json.key(key);
  if (time) {
    json.value(to_rfc3339(*time));
  } else {
    json.null();
  }
}

void text_or_null(JsonWriter& json, std::string_view key, bool there, const std::string& text) {
  json.key(key);
  there ? json.value(text) : json.null();
}

void sink_json(JsonWriter& json, const std::string& name, const SinkLine& line) {
  const SinkReport live = line.alive ? line.live : SinkReport{};
  json.begin_object().key("name").value(name);
  json.key("waiting").value(line.stored.parked.waiting).key("dead").value(line.stored.parked.dead);
  json.key("waiting_for_destination").value(line.stored.parked.uncharged);
  optional_time(json, "oldest_waiting", line.stored.oldest_waiting);
  text_or_null(json, "relay", line.alive, line.relay);
  text_or_null(json, "breaker", line.alive, live.breaker);
  json.key("in_flight").value(live.in_flight).key("rate").value(live.rate).key("delivered").value(live.delivered);
  optional_time(json, "last_delivery",
                line.live.last_delivery == Time{} ? std::nullopt : std::optional(line.live.last_delivery));
  json.key("held_because").value(live.held_because).key("held_destinations").value(live.held_destinations);
  json.key("paused");
  if (const auto& pause = line.stored.pause) {
    json.begin_object().key("by").value(pause->actor).key("since").value(to_rfc3339(pause->since));
    json.key("reason").value(pause->reason).end_object();
  } else {
    json.null();
  }
  const LastError error = last_error(line);
  json.key("last_error").value(error.what);
  optional_time(json, "last_error_at", error.at);
  text_or_null(json, "last_error_relay", !error.relay.empty(), error.relay);
  json.key("last_error_relay_stopped").value(!error.relay.empty() && !line.alive).end_object();
}

}  // namespace

StatusReport make_status_report(StoreStatus store, const std::vector<std::string>& sinks) {
  StatusReport report;
  for (const std::string& sink : sinks) report.sinks[sink];
  for (const auto& [name, status] : store.sinks) report.sinks[name].stored = status;
  std::vector<const RelayStatus*> relays;
  for (const RelayStatus& relay : store.relays) relays.push_back(&relay);
  // The last one that says something of a sink counts: the living after those that are not, then by when it was seen.
  std::sort(relays.begin(), relays.end(), [now = store.database_now](const auto* a, const auto* b) {
    return std::pair(is_alive(*a, now), a->seen_at) < std::pair(is_alive(*b, now), b->seen_at);
  });
  for (const RelayStatus* relay : relays) {
    const auto reports = parse_sink_reports(relay->sinks_json);
    if (!reports) continue;  // a relay that has said nothing yet
    for (const SinkReport& live : *reports) {
      const auto line = report.sinks.find(live.sink);
      if (line == report.sinks.end()) continue;
      line->second.live = live;
      line->second.relay = relay->name;
      line->second.alive = is_alive(*relay, store.database_now);
    }
  }
  report.store = std::move(store);
  return report;
}

LastError last_error(const SinkLine& line) {
  if (line.stored.pause) return {to_text(*line.stored.pause), {}, {}};
  if (line.alive && !line.live.held_because.empty()) return {"held: " + line.live.held_because, {}, line.relay};
  if (line.alive && !line.live.breaker_reason.empty()) return {line.live.breaker_reason, {}, line.relay};
  if (line.alive && line.live.held_destinations > 0) {
    return {fmt::format("{} destination{} held: {}", line.live.held_destinations,
                        line.live.held_destinations == 1 ? "" : "s", line.live.held_destination_reason),
            {},
            line.relay};
  }
  LastError said{line.live.last_error, {}, line.relay};
  if (line.live.last_error_at != Time{}) said.at = line.live.last_error_at;
  const LastError stored{line.stored.last_error, line.stored.last_error_at, {}};
  const bool newer = !stored.what.empty() && (said.what.empty() || (stored.at && said.at && *stored.at > *said.at));
  LastError error = newer ? stored : said;
  if (error.what.empty() || is_over(line, error.at)) return {};
  return error;
}

std::string status_text(const StatusReport& report) {
  const StoreStatus& store = report.store;
  const Time now = store.database_now;
  std::string text = fmt::format("unsent  {}{}", store.unsent, store.unsent_is_capped ? " or more" : "");
  if (store.oldest_unsent) text += fmt::format(", the oldest for {}", age(*store.oldest_unsent, now));
  text += fmt::format("\n\n{:<20} {:<10} {:>9} {:>9} {:>7} {:>10} {:>9}  {}\n", "SINK", "BREAKER", "WAITING", "DEAD",
                      "OLDEST", "IN FLIGHT", "RATE/S", "LAST ERROR");
  for (const auto& [name, line] : report.sinks) text += sink_row(name, line, now);
  if (!store.shares.empty()) text += fmt::format("\n{:<20} {:>7} {:>7}  {}\n", "FEED", "LANES", "LEASE", "RELAY");
  for (const ShareStatus& share : store.shares) text += share_row(share, store);
  text += "\n";
  for (const RelayStatus& relay : store.relays) {
    const std::string state = relay.stopped ? "stopped" : is_alive(relay, now) ? "running" : "gone";
    text += fmt::format("relay {}: {}, seen {} ago\n", relay.name, state, age(relay.seen_at, now));
  }
  if (store.relays.empty()) text += "no relay has run yet\n";
  return text;
}

std::string status_json(const StatusReport& report) {
  const StoreStatus& store = report.store;
  JsonWriter json;
  json.begin_object().key("now").value(to_rfc3339(store.database_now));
  json.key("unsent").value(store.unsent).key("unsent_is_lower_bound").value(store.unsent_is_capped);
  optional_time(json, "oldest_unsent", store.oldest_unsent);
  json.key("sinks").begin_array();
  for (const auto& [name, line] : report.sinks) sink_json(json, name, line);
  json.end_array().key("shares").begin_array();
  for (const ShareStatus& share : store.shares) {
    const bool owned = is_owned(share, store);
    json.begin_object().key("feed").value(share.feed);
    json.key("lane").value(share.lanes.first).key("lane_to").value(share.lanes.last);
    text_or_null(json, "relay", owned, share.relay);
    optional_time(json, "lease_until", owned ? share.until : std::nullopt);
    json.end_object();
  }
  json.end_array().key("relays").begin_array();
  for (const RelayStatus& relay : store.relays) {
    json.begin_object().key("name").value(relay.name).key("alive").value(is_alive(relay, store.database_now));
    json.key("stopped").value(relay.stopped).key("started_at").value(to_rfc3339(relay.started_at));
    json.key("seen_at").value(to_rfc3339(relay.seen_at)).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace outbox::app
