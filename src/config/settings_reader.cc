#include "config/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/listen_address.h"
#include "base/text.h"
#include "config/database_url.h"
#include "config/sections.h"

namespace outbox::config {

namespace {

constexpr std::string_view kElsewhere[] = {"outbox",  "sinks",        "routes", "retry",
                                           "breaker", "dead_letters", "admin",  "log"};
const YamlNode kAbsent;

const YamlNode& section(const YamlNode& root, std::string_view name) {
  const YamlNode* node = root.find(name);
  return node == nullptr ? kAbsent : *node;
}

int line_of(const YamlNode& node, std::string_view key) {
  const YamlNode* child = node.find(key);
  return child == nullptr ? node.line : child->line;
}

}  // namespace

std::string unless_hidden(const YamlNode& node, std::string_view key, const std::string& value, std::string complaint) {
  const YamlNode* child = node.find(key);
  if (child == nullptr || child->literal || child->scalar == value) return complaint;
  return fmt::format("'{}' does not hold a valid value here", child->scalar);
}

Settings SettingsReader::read(const YamlNode& root) {
  read_top(root);
  if (root.kind != YamlNode::Kind::map) return std::move(settings_);
  read_outbox(section(root, "outbox"));
  read_defaults(root);
  read_admin(section(root, "admin"));
  read_log(section(root, "log"));
  read_sinks(root.find("sinks"));
  read_forward(section(root, "dead_letters").find("forward"));
  read_routes(root.find("routes"));
  return std::move(settings_);
}

void SettingsReader::read_top(const YamlNode& root) {
  std::vector<std::string_view> elsewhere(std::begin(kElsewhere), std::end(kElsewhere));
  for (const std::string_view later : kLaterSections) {
    if (root.find(later) == nullptr) continue;
    elsewhere.push_back(later);
    problems_.error(line_of(root, later), std::string(later), "not in this version; remove the section");
  }
  const Values values = reader_.read(root, top_options(), "", elsewhere);
  settings_.database = values.text("database");
  if (values.has("database")) {
    if (const auto kind = database_kind(settings_.database); !kind) {
      problems_.error(line_of(root, "database"), "database", kind.failure().what);
    }
  }
  if (values.has("drain_timeout")) settings_.drain_timeout = values.duration("drain_timeout");
  if (values.has("lease")) settings_.lease = values.duration("lease");
}

void SettingsReader::read_outbox(const YamlNode& node) {
  const Values values = reader_.read(node, outbox_options(), "outbox");
  TableMapping& outbox = settings_.outbox;
  outbox.table = values.text("table");
  outbox.columns = values.map("columns");
  outbox.constants = values.map("constants");
  check_names(outbox.columns, column_names(), section(node, "columns"), "outbox.columns");
  check_names(outbox.constants, constant_names(), section(node, "constants"), "outbox.constants");
  if (values.has("capture") && values.text("capture") != "poll") {
    problems_.error(line_of(node, "capture"), "outbox.capture",
                    fmt::format("{} is not in this version; write poll", values.text("capture")));
  }
  if (values.has("sent")) {
    const std::string& sent = values.text("sent");
    outbox.sent_given = true;
    if (sent != "keep" && settings_.database.starts_with("sqlite:")) {
      problems_.error(line_of(node, "sent"), "outbox.sent",
                      fmt::format("{} is not for SQLite, whose relay writes nothing into the application's file; "
                                  "write keep",
                                  sent));
    }
    outbox.sent = sent == "keep" ? SentMode::keep : sent == "mark" ? SentMode::mark : SentMode::remove;
  }
  if (values.has("retain")) settings_.retain = values.duration("retain");
}

void SettingsReader::check_names(const std::map<std::string, std::string>& given,
                                 std::span<const std::string_view> known, const YamlNode& node,
                                 const std::string& path) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string guess = nearest(name, names);
    problems_.error(line_of(node, name), path + "." + name,
                    guess.empty() ? fmt::format("unknown name; known here: {}", join(names, ", "))
                                  : fmt::format("unknown name; did you mean '{}'?", guess));
  }
}

void SettingsReader::read_defaults(const YamlNode& root) {
  const YamlNode& retry = section(root, "retry");
  const YamlNode& breaker = section(root, "breaker");
  const Values retries = reader_.read(retry, retry_options(), "retry");
  retry_ = with_budget(retries, merge_retry(retries, retry_, "", retry.line, "retry"), "");
  breaker_ = merge_breaker(reader_.read(breaker, breaker_options(), "breaker"), breaker_, "", breaker.line, "breaker");
  constexpr std::string_view kReadLater[] = {"forward"};
  const Values dead = reader_.read(section(root, "dead_letters"), dead_letters_options(), "dead_letters", kReadLater);
  holds_key_ = dead.text("key") == "hold";
  if (dead.has("retain")) settings_.retain_dead = dead.duration("retain");
  settings_.replays_max = dead.integer("replays");
}

RetrySettings SettingsReader::merge_retry(const Values& values, RetrySettings retry, const std::string& prefix,
                                          int line, const std::string& path) {
  if (values.has(prefix + "base")) retry.base = values.duration(prefix + "base");
  if (values.has(prefix + "cap")) retry.cap = values.duration(prefix + "cap");
  if (values.has(prefix + "attempts")) retry.attempts = values.integer(prefix + "attempts");
  if (values.has(prefix + "age")) retry.age = values.duration(prefix + "age");
  const bool changes = values.has(prefix + "base") || values.has(prefix + "cap");  // else it was said above
  if (changes && retry.cap < retry.base) {
    problems_.error(
        line, path,
        fmt::format("cap ({}) is below base ({}); raise cap or lower base", to_text(retry.cap), to_text(retry.base)));
  }
  return retry;
}

// Apart from the rest: a route has no budget.
RetrySettings SettingsReader::with_budget(const Values& values, RetrySettings retry, const std::string& prefix) {
  if (values.has(prefix + "budget.percent")) retry.budget_percent = values.integer(prefix + "budget.percent");
  if (values.has(prefix + "budget.per_second")) retry.budget_per_second = values.integer(prefix + "budget.per_second");
  return retry;
}

BreakerSettings SettingsReader::merge_breaker(const Values& values, BreakerSettings breaker, const std::string& prefix,
                                              int line, const std::string& path) {
  if (values.has(prefix + "failures")) breaker.failures = values.integer(prefix + "failures");
  if (values.has(prefix + "open")) breaker.open = values.duration(prefix + "open");
  if (values.has(prefix + "cap")) breaker.cap = values.duration(prefix + "cap");
  const bool changes = values.has(prefix + "open") || values.has(prefix + "cap");
  if (changes && breaker.cap < breaker.open) {
    problems_.error(line, path,
                    fmt::format("cap ({}) is below open ({}); raise cap or lower open", to_text(breaker.cap),
                                to_text(breaker.open)));
  }
  return breaker;
}

void SettingsReader::read_admin(const YamlNode& node) {
  const Values values = reader_.read(node, admin_options(), "admin");
  if (!values.has("listen")) return;
  settings_.admin.listen = values.text("listen");
  const auto address = parse_listen_address(settings_.admin.listen);
  if (!address) {
    problems_.error(line_of(node, "listen"), "admin.listen",
                    unless_hidden(node, "listen", settings_.admin.listen, address.failure().what));
  } else if (!is_loopback(address->host)) {
    problems_.error(line_of(node, "listen"), "admin.listen",
                    "is reachable from outside, and this version has neither tokens nor TLS for it; listen on "
                    "127.0.0.1 and put a proxy before it");
  }
}

void SettingsReader::read_log(const YamlNode& node) {
  const Values values = reader_.read(node, log_options(), "log");
  const std::string& level = values.text("level");
  settings_.log.level = level == "debug"   ? log::Level::debug
                        : level == "warn"  ? log::Level::warn
                        : level == "error" ? log::Level::error
                                           : log::Level::info;
  settings_.log.format = values.text("format") == "json" ? log::Format::json : log::Format::logfmt;
}

const SinkKind* SettingsReader::find_kind(std::string_view type) const {
  const auto found =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const SinkKind& kind) { return kind.name == type; });
  return found == kinds_.end() ? nullptr : &*found;
}

const SinkSettings* SettingsReader::find_sink(const std::string& name) const {
  const auto found = std::find_if(settings_.sinks.begin(), settings_.sinks.end(),
                                  [&](const SinkSettings& sink) { return sink.name == name; });
  return found == settings_.sinks.end() ? nullptr : &*found;
}

}  // namespace outbox::config
