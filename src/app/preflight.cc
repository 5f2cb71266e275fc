#include "app/preflight.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli.h"
#include "app/database.h"
#include "app/registry.h"
#include "app/runner_factory.h"
#include "app/settings_file.h"
#include "app/status_report.h"
#include "app/unknown_sinks.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace outbox::app {

namespace {

std::string_view name_of(Grade grade) {
  switch (grade) {
    case Grade::ok: return "ok";
    case Grade::note: return "note";
    default: return "wrong";
  }
}

class Preflight {
 public:
  explicit Preflight(const config::Settings& settings) : settings_(settings), sinks_(registered_sinks()) {}

  std::vector<Finding> look() && {
    const auto here = served_here(settings_);
    if (!here) {
      wrong("file", here.failure());
      return std::move(findings_);
    }
    ok("file", summary(settings_));
    look_at_database(*here);
    for (const config::SinkSettings& sink : here->sinks) look_at_sink(sink);
    return std::move(findings_);
  }

 private:
  void look_at_database(const config::Settings& here) {
    const auto database = Database::inspect(here);
    if (!database) return wrong("database", database.failure());
    ok("database", database->address());
    look_at_table(*database);
    look_at_retention(*database, here);
    const auto made = database->check_tables();
    if (!made) return wrong("tables", made.failure());
    if (!*made) {
      return ok("tables", "not made yet: the first relay makes its file, " + database->address() + "-outboxd");
    }
    ok("tables", "made for this version");
    look_at_privileges(*database, here);
    look_at_relays(*database, here);
    if (auto known = refuse_unknown_sinks(settings_, *database); !known) wrong("sinks", known.failure());
  }

  void look_at_table(const Database& database) {
    ok("table",
       settings_.outbox.table + (database.positions() ? ": each sink has a position of its own"
                                                      : ": its rows say what was sent, and the sinks share that"));
    for (const std::string& text : database.notes()) note("table", text);
  }

  void look_at_privileges(const Database& database, const config::Settings& here) {
    const auto missing = database.missing_grants(here.retain.has_value());
    if (!missing) return wrong("privileges", missing.failure());
    for (const MissingGrant& each : *missing) {
      add({each.needed ? Grade::wrong : Grade::note, "privileges", each.what + ": " + each.statement});
    }
    if (missing->empty()) ok("privileges", "all that a relay needs");
  }

  // Whether several relays share the keys of a feed, and who runs now.
  void look_at_relays(const Database& database, const config::Settings& here) {
    const std::vector<Feed> feeds = database.feeds(here);
    for (const Feed& feed : feeds) {
      const auto divisible = can_be_divided(feed, here, database, sinks_);
      if (!divisible) continue;  // said of the sink itself
      const std::string subject = feed.positions ? "relays of " + feed.name : "relays";
      ok(subject, *divisible ? "several divide the keys among themselves" : "one works, the others stand by");
    }
    const auto status = database.make_store()->status(feeds);
    if (!status) return wrong("relays", status.failure());
    const auto running = std::count_if(status->relays.begin(), status->relays.end(),
                                       [&](const RelayStatus& relay) { return is_alive(relay, status->database_now); });
    ok("relays", fmt::format("{} running", running));
  }

  void look_at_retention(const Database& database, const config::Settings& here) {
    if (database.positions() && !here.retain) {
      note("retention", "delivered rows stay in " + here.outbox.table + " for ever: set outbox.retain, like 7d");
    }
  }

  void look_at_sink(const config::SinkSettings& settings) {
    const std::string subject = "sink " + settings.name;
    const auto sink = sinks_.make(settings);
    if (!sink) return wrong(subject, sink.failure());
    const auto reached = reach_sink(settings);
    if (!reached) return wrong(subject, reached.failure());
    ok(subject, *reached);
  }

  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void ok(const std::string& subject, const std::string& what) { add({Grade::ok, subject, what}); }
  void note(const std::string& subject, const std::string& what) { add({Grade::note, subject, what}); }
  void wrong(const std::string& subject, const Failure& failure) {
    add({Grade::wrong, subject, failure.what, failure.kind == FailureKind::unavailable});
  }

  const config::Settings& settings_;
  const SinkMaker sinks_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> preflight(const config::Settings& settings) { return Preflight(settings).look(); }

std::string preflight_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& each : findings) width = std::max(width, each.subject.size());
  std::string text;
  for (const Finding& each : findings) {
    text += fmt::format("{:<5}  {:<{}}  {}\n", name_of(each.grade), each.subject, width, one_line(each.what));
  }
  return text;
}

std::string preflight_json(const std::vector<Finding>& findings) {
  JsonWriter json;
  json.begin_object().key("findings").begin_array();
  for (const Finding& each : findings) {
    json.begin_object().key("grade").value(name_of(each.grade)).key("subject").value(each.subject);
    json.key("what").value(each.what).key("out_of_reach").value(each.out_of_reach).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

int preflight_exit_code(const std::vector<Finding>& findings) {
  int code = kDone;
  for (const Finding& each : findings) {
    if (each.grade != Grade::wrong) continue;
    if (!each.out_of_reach) return kAnswerIsNo;
    code = kOutOfReach;
  }
  return code;
}

}  // namespace outbox::app
