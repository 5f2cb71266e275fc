#include "app/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "config/units.h"

namespace outbox::app {

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 the answer is no; 2 usage or configuration; 3 database or sink out of reach.\n"
    "Precedence: flag, then environment (OUTBOX_DATABASE, OUTBOX_ADMIN_LISTEN, OUTBOX_LOG_LEVEL, OUTBOX_LOG_FORMAT),\n"
    "then the file (--config, else OUTBOX_CONFIG, else outboxd.yaml).";

void override_option(CLI::App& command, config::Overrides& overrides, const char* flag, const std::string& key,
                     const std::string& help) {
  command.add_option_function<std::string>(
      flag, [&overrides, key](const std::string& value) { overrides[key] = value; }, help);
}

// `instead` says of what the URL takes the place, if of anything.
void database_options(CLI::App& command, ConfigFlags& flags, const std::string& instead = {}) {
  command.add_option("--config", flags.file, "The configuration file")->type_name("FILE");
  const std::string help = "URL of the database" + instead +
                           ": postgresql://… or sqlite:FILE. Others see a command line: keep passwords in "
                           "OUTBOX_DATABASE or the file";
  override_option(command, flags.overrides, "--database", "database", help);
}

// Of commands that need a configuration.
void file_options(CLI::App& command, ConfigFlags& flags) {
  database_options(command, flags, ", in place of the configuration's, which is needed all the same");
}

// Of commands that need a database and its table, and no more.
void table_options(CLI::App& command, ConfigFlags& flags) {
  database_options(command, flags);
  command.add_option("--table", flags.table, "The outbox table, where there is no configuration file")
      ->capture_default_str();
}

void log_options(CLI::App& command, config::Overrides& overrides) {
  override_option(command, overrides, "--log-level", "log.level", "debug, info, warn or error");
  override_option(command, overrides, "--log-format", "log.format", "logfmt or json");
}

// What of the commands CLI11 fills; it keeps references until the parse is over.
struct Parsed {
  RunFlags run;
  DemoFlags demo;
  InitFlags init;
  CheckFlags check;
  SendFlags send;
  StatusFlags status;
  ListFlags list;
  ShowFlags show;
  RequeueFlags requeue;
  DiscardFlags discard;
  PauseFlags pause;
  ResumeFlags resume;
  SinkForgetFlags forget;
  PruneFlags prune;
  ConfigLintFlags lint;
  VersionFlags version;
  std::string demo_for;
  std::vector<std::string> headers;
};

CLI::App* add_command(CLI::App& app, const char* name, const char* help, const char* example) {
  CLI::App* command = app.add_subcommand(name, help);
  command->footer(fmt::format("Example:\n  {}", example));
  return command;
}

void add_run(CLI::App& app, Parsed& parsed) {
  CLI::App* run = add_command(app, "run",
                              "Relay messages to the sinks of the file; where dead_letters.forward is set, forward "
                              "the dead letters, too",
                              "outboxd run --config outboxd.yaml");
  file_options(*run, parsed.run.config);
  override_option(*run, parsed.run.config.overrides, "--admin-listen", "admin.listen",
                  "host:port of /metrics, /healthz, /readyz; --once opens none");
  log_options(*run, parsed.run.config.overrides);
  run->add_flag("--once", parsed.run.once,
                "Deliver what is there and due now, retries awaited, then end; exit 1 if any is waiting or dead");
}

void add_demo(CLI::App& app, Parsed& parsed) {
  CLI::App* demo =
      add_command(app, "demo", "A small shop on SQLite, with failures, and the checker's verdict at the end",
                  "outboxd demo --for 20s");
  demo->add_option("--for", parsed.demo_for, "End after this long, like 20s (default: at Ctrl-C)")
      ->type_name("DURATION");
  demo->add_flag("--json", parsed.demo.json, "Print the verdict as one JSON object");
}

void add_init(CLI::App& app, Parsed& parsed) {
  CLI::App* init = add_command(app, "init", "Create or upgrade our tables; safe to run again",
                               "outboxd init --database postgresql://shop@localhost/shop");
  table_options(*init, parsed.init.config);
  init->add_option("--payload", parsed.init.payload, "Type of the payload column on PostgreSQL")
      ->check(CLI::IsMember({"json", "jsonb", "bytea"}))
      ->capture_default_str();
  init->add_option("--capture", parsed.init.capture,
                   "How the daemon will find new rows; wal and log are not in this version")
      ->check(CLI::IsMember({"poll", "wal", "log"}))
      ->capture_default_str();
  init->add_flag("--print", parsed.init.print, "Print the SQL and touch nothing");
}

void add_check(CLI::App& app, Parsed& parsed) {
  CLI::App* check = add_command(app, "check",
                                "The file, the database, its tables and privileges, and the sinks: what is wrong, and "
                                "what mends it",
                                "outboxd check --config outboxd.yaml");
  file_options(*check, parsed.check.config);
  check->add_flag("--json", parsed.check.json, "One JSON object");
}

void add_send(CLI::App& app, Parsed& parsed) {
  SendFlags& flags = parsed.send;
  CLI::App* send = add_command(app, "send", "Enqueue one message and print its id",
                               "outboxd send --database sqlite:shop.db --aggregate-type order --aggregate-id 4711 \\\n"
                               "    --type OrderConfirmed --payload '{\"total\": 12}'");
  table_options(*send, flags.config);
  send->add_option("--aggregate-type", flags.aggregate_type, "For example order")->required();
  send->add_option("--aggregate-id", flags.aggregate_id, "With the type, the ordering key")->required();
  send->add_option("--type", flags.type, "For example OrderConfirmed")->required();
  auto* payload = send->add_option("--payload", flags.payload, "JSON text; - reads standard input");
  send->add_option("--payload-file", flags.payload_file, "Read the payload from a file; - is standard input")
      ->type_name("FILE")
      ->excludes(payload);
  send->add_flag("--bytes", flags.bytes, "The payload is bytes, not JSON");
  send->add_option("--id", flags.id, "Message id, a UUID (default: a new UUIDv7)");
  send->add_option("--header", parsed.headers, "A header, name=value; may be repeated")->type_name("NAME=VALUE");
  send->add_option("--not-before", flags.not_before, "Not delivered before, like 2026-01-31T09:30:00Z")
      ->type_name("TIME");
  send->add_option("--aggregate-version", flags.aggregate_version, "Version of the aggregate");
  send->add_option("--schema-version", flags.schema_version, "Version of the payload's schema");
  send->add_option("--traceparent", flags.traceparent, "W3C trace context");
}

void add_status(CLI::App& app, Parsed& parsed) {
  CLI::App* status = add_command(app, "status", "Unsent, waiting and dead messages, and what each sink does",
                                 "outboxd status --config outboxd.yaml --watch");
  file_options(*status, parsed.status.config);
  status->add_flag("--watch", parsed.status.watch, "Again every two seconds");
  status->add_flag("--json", parsed.status.json, "One JSON object (one a line with --watch)");
}

void filter_options(CLI::App& command, FilterFlags& filter) {
  command.add_option("--sink", filter.sink, "Only of this sink")->type_name("NAME");
  command.add_option("--key", filter.key, "Only of this key, like order:4711")->type_name("TYPE:ID");
  command.add_option("--type", filter.type, "Only of this message type");
  command.add_option("--owner", filter.owner, "Only of this owner, as the route names it");
  command.add_option("--died-of", filter.died_of, "Only with this reason, like http_422")->type_name("REASON");
  command.add_option("--since", filter.since, "Only what died (or was created) since: 1h, or 2026-01-31T09:30:00Z")
      ->type_name("TIME");
}

void act_options(CLI::App& command, ActFlags& act, const char* reason_help = "Why, for the audit") {
  command.add_option("--actor", act.actor, "Who does it, for the audit (default: you, user@host)");
  command.add_option("--reason", act.reason, reason_help);
}

void add_list(CLI::App& app, Parsed& parsed) {
  CLI::App* list =
      add_command(app, "list", "Messages by state, per sink", "outboxd list --state dead --sink invoices --since 1h");
  file_options(*list, parsed.list.config);
  list->add_option("--state", parsed.list.state, "pending: not sent yet; waiting and dead: parked; sent: passed")
      ->check(CLI::IsMember({"pending", "waiting", "dead", "sent"}))
      ->capture_default_str();
  filter_options(*list, parsed.list.filter);
  list->add_option("--limit", parsed.list.limit, "At most so many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  list->add_flag("--json", parsed.list.json, "One JSON object");
}

void add_show(CLI::App& app, Parsed& parsed) {
  CLI::App* show = add_command(app, "show", "The life of one message: sinks, attempts, errors, what people did",
                               "outboxd show 01970a3e-7c52-7d2f-8a61-3f0c52d1b7aa");
  file_options(*show, parsed.show.config);
  show->add_option("ID", parsed.show.id, "The message's id")->required();
  show->add_option("--sink", parsed.show.sink, "With --payload: as it is parked for this sink")->type_name("NAME");
  auto* json = show->add_flag("--json", parsed.show.json, "One JSON object");
  show->add_flag("--payload", parsed.show.payload, "Print the payload's bytes and nothing else")->excludes(json);
}

void add_requeue(CLI::App& app, Parsed& parsed) {
  CLI::App* requeue =
      add_command(app, "requeue", "Send dead letters again, by id or filter, in the order of their keys",
                  "outboxd requeue --sink invoices --died-of http_422 --dry-run");
  file_options(*requeue, parsed.requeue.config);
  requeue->add_option("ID", parsed.requeue.filter.ids, "Ids of messages");
  filter_options(*requeue, parsed.requeue.filter);
  auto* all = requeue->add_flag("--all", parsed.requeue.all, "Every dead letter");
  requeue->add_flag("--dry-run", parsed.requeue.dry_run, "Only say how many");
  auto* file = requeue->add_option("--payload-file", parsed.requeue.payload_file,
                                   "Send this payload instead, under a new id with the header replaces; - is "
                                   "standard input");
  file->type_name("FILE")->excludes(all);
  requeue
      ->add_flag("--same-id", parsed.requeue.same_id,
                 "With --payload-file: keep the id. Receivers that remember it take the message for a duplicate")
      ->needs(file);
  act_options(*requeue, parsed.requeue.act);
}

void add_discard(CLI::App& app, Parsed& parsed) {
  CLI::App* discard =
      add_command(app, "discard", "Give dead letters up, by id or filter",
                  "outboxd discard 01970a3e-7c52-7d2f-8a61-3f0c52d1b7aa --reason 'order was cancelled'");
  file_options(*discard, parsed.discard.config);
  discard->add_option("ID", parsed.discard.filter.ids, "Ids of messages");
  filter_options(*discard, parsed.discard.filter);
  discard->add_flag("--all", parsed.discard.all, "Every dead letter");
  discard->add_flag("--dry-run", parsed.discard.dry_run, "Only say how many");
  act_options(*discard, parsed.discard.act, "Why, for the audit; has to be said, except with --dry-run");
}

void add_sink_control(CLI::App& app, Parsed& parsed) {
  CLI::App* pause = add_command(app, "pause", "Have every relay leave a sink alone until it is resumed",
                                "outboxd pause invoices --reason 'their maintenance until 14:00'");
  file_options(*pause, parsed.pause.config);
  pause->add_option("SINK", parsed.pause.sink, "The sink's name")->required();
  act_options(*pause, parsed.pause.act);
  CLI::App* resume = add_command(app, "resume", "Have a paused sink go on where it stood", "outboxd resume invoices");
  file_options(*resume, parsed.resume.config);
  resume->add_option("SINK", parsed.resume.sink, "The sink's name")->required();
  act_options(*resume, parsed.resume.act);
  CLI::App* sink = add_command(app, "sink", "What the database knows of sinks", "outboxd sink forget invoices");
  sink->require_subcommand(1);
  CLI::App* forget = add_command(*sink, "forget",
                                 "Delete position, waiting and dead deliveries of a sink that is no longer configured",
                                 "outboxd sink forget invoices --yes");
  file_options(*forget, parsed.forget.config);
  forget->add_option("SINK", parsed.forget.sink, "The sink's name")->required();
  forget->add_flag("--yes", parsed.forget.yes, "Do it; without this, only say what would go");
  act_options(*forget, parsed.forget.act);
}

void add_prune(CLI::App& app, Parsed& parsed) {
  CLI::App* prune = add_command(app, "prune", "Apply retention now", "outboxd prune --config outboxd.yaml --dry-run");
  file_options(*prune, parsed.prune.config);
  prune->add_flag("--dry-run", parsed.prune.dry_run, "Only say how many rows would go");
}

void add_config(CLI::App& app, Parsed& parsed) {
  CLI::App* config =
      add_command(app, "config", "Check and describe the configuration", "outboxd config lint --config outboxd.yaml");
  config->require_subcommand(1);
  CLI::App* lint = add_command(*config, "lint", "Every error of the file at once; connects to nothing",
                               "outboxd config lint --config outboxd.yaml");
  file_options(*lint, parsed.lint.config);
  add_command(*config, "doc", "Print the reference page (Markdown)", "outboxd config doc > configuration.md");
  add_command(*config, "schema", "Print the JSON Schema, for editors", "outboxd config schema > outboxd.schema.json");
}

void add_version(CLI::App& app, Parsed& parsed) {
  CLI::App* version = add_command(app, "version", "The version, and those of the libraries", "outboxd version --json");
  version->add_flag("--json", parsed.version.json, "One JSON object");
}

// An empty value is a mistake, such as a shell variable that is not set. Taken for an option that was left out, it
// would widen a filter to everything, or make a demo endless. A payload may be empty.
std::optional<std::string> empty_value(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const auto& values = option->results();
    if (option->get_name() == "--payload" || std::find(values.begin(), values.end(), "") == values.end()) continue;
    return option->get_name() + " is empty; give it a value or leave it out";
  }
  for (const CLI::App* chosen : command.get_subcommands()) {
    if (auto problem = empty_value(*chosen)) return problem;
  }
  return std::nullopt;
}

int usage_error(const CLI::App& app, const std::string& what) {
  std::string path = "outboxd";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  fmt::print(stderr, "{}: {}; see {} --help\n", path, one_line(what), path);
  return kUsage;
}

std::optional<std::string> check_choice(const FilterFlags& filter, bool all) {
  if (filter.empty() && !all) {
    return "which dead letters? name ids, a filter (--sink, --key, --type, --owner, --died-of, --since), or --all";
  }
  if (!filter.empty() && all) return "--all goes with no id and no filter";
  return std::nullopt;
}

std::optional<std::string> check_dead_letter_flags(const CLI::App& app, const Parsed& parsed) {
  if (app.got_subcommand("requeue")) {
    const RequeueFlags& flags = parsed.requeue;
    if (flags.payload_file && flags.filter.ids.size() != 1) return "--payload-file is for one message: name its id";
    if (flags.payload_file && flags.dry_run) return "--dry-run says nothing of --payload-file";
    return check_choice(flags.filter, flags.all);
  }
  if (app.got_subcommand("discard")) {
    if (parsed.discard.act.reason.empty() && !parsed.discard.dry_run) {
      return "discarding is for good: say why with --reason";
    }
    return check_choice(parsed.discard.filter, parsed.discard.all);
  }
  return std::nullopt;
}

// What CLI11 cannot type.
std::optional<std::string> finish(Parsed& parsed) {
  if (!parsed.demo_for.empty()) {
    const auto duration = config::parse_duration(parsed.demo_for);
    if (!duration) return "--for " + duration.failure().what;
    parsed.demo.run_for = *duration;
  }
  for (const std::string& header : parsed.headers) {
    const auto equals = header.find('=');
    if (equals == std::string::npos || equals == 0) return "--header is written name=value";
    parsed.send.headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
  }
  if (parsed.send.payload == "-") {
    parsed.send.payload.reset();
    parsed.send.payload_file = "-";
  }
  return std::nullopt;
}

Command chosen(const CLI::App& app, Parsed& parsed) {
  const CLI::App* command = app.get_subcommands().front();
  const std::string name = command->get_name();
  if (name == "run") return std::move(parsed.run);
  if (name == "demo") return parsed.demo;
  if (name == "init") return std::move(parsed.init);
  if (name == "check") return std::move(parsed.check);
  if (name == "send") return std::move(parsed.send);
  if (name == "status") return std::move(parsed.status);
  if (name == "list") return std::move(parsed.list);
  if (name == "show") return std::move(parsed.show);
  if (name == "requeue") return std::move(parsed.requeue);
  if (name == "discard") return std::move(parsed.discard);
  if (name == "pause") return std::move(parsed.pause);
  if (name == "resume") return std::move(parsed.resume);
  if (name == "sink") return std::move(parsed.forget);
  if (name == "prune") return std::move(parsed.prune);
  if (name == "version") return parsed.version;
  const std::string of_config = command->get_subcommands().front()->get_name();
  if (of_config == "doc") return ConfigDocFlags{};
  if (of_config == "schema") return ConfigSchemaFlags{};
  return std::move(parsed.lint);
}

std::optional<std::string> unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return std::nullopt;
  const std::string guess = nearest(argv[1], names);
  return fmt::format("unknown command '{}'{}", argv[1],
                     guess.empty() ? "" : fmt::format(" (did you mean '{}'?)", guess));
}

}  // namespace

std::variant<Command, int> parse_command_line(int argc, const char* const* argv) {
  CLI::App app{"outboxd: delivers messages from an outbox table to Kafka, RabbitMQ, NATS, HTTP endpoints and files.",
               "outboxd"};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", "outboxd " OUTBOX_VERSION);
  Parsed parsed;
  add_init(app, parsed);
  add_check(app, parsed);
  add_run(app, parsed);
  add_demo(app, parsed);
  add_send(app, parsed);
  add_status(app, parsed);
  add_list(app, parsed);
  add_show(app, parsed);
  add_requeue(app, parsed);
  add_discard(app, parsed);
  add_sink_control(app, parsed);
  add_prune(app, parsed);
  add_config(app, parsed);
  add_version(app, parsed);
  if (const auto unknown = unknown_command(app, argc, argv)) return usage_error(app, *unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  }
  if (const auto wrong = empty_value(app)) return usage_error(app, *wrong);
  if (const auto wrong = finish(parsed)) return usage_error(app, *wrong);
  if (const auto wrong = check_dead_letter_flags(app, parsed)) return usage_error(app, *wrong);
  return chosen(app, parsed);
}

}  // namespace outbox::app
