// The part of SettingsReader that reads sinks and routes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/sections.h"
#include "config/settings_reader.h"

namespace outbox::config {

namespace {

constexpr std::string_view kNoSink = "none";

std::vector<std::string> kind_names(std::span<const SinkKind> kinds) {
  std::vector<std::string> names;
  for (const SinkKind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

std::vector<Option> joined(OptionTable first, OptionTable second) {
  std::vector<Option> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

Option address_row(std::string_view name) {
  return {.name = name, .type = OptionType::text, .fallback = "", .help = ""};
}

// `aggregate_type` and `type` of a earlier route take everything that a later one of the same sink would.
bool covers(const RouteSettings& earlier, const RouteSettings& later) {
  return earlier.sink == later.sink && (!earlier.aggregate_type || earlier.aggregate_type == later.aggregate_type) &&
         (!earlier.type || earlier.type == later.type);
}

// The keys of a map may hold dots themselves: the longest key that is there counts at each level.
int line_of_option(const YamlNode& node, std::string_view option) {
  for (auto end = option.size(); end != std::string_view::npos && end > 0; end = option.rfind('.', end - 1)) {
    const YamlNode* child = node.find(option.substr(0, end));
    if (child == nullptr) continue;
    return end == option.size() ? child->line : line_of_option(*child, option.substr(end + 1));
  }
  return node.line;
}

}  // namespace

std::string check_address(const std::string& address) {
  const std::vector<std::string> fields(message_fields().begin(), message_fields().end());
  for (std::size_t open = address.find('{'); open != std::string::npos; open = address.find('{', open + 1)) {
    const auto close = address.find('}', open);
    if (close == std::string::npos) return fmt::format("'{}' has a {{ that is not closed", address);
    const std::string field = address.substr(open + 1, close - open - 1);
    if (std::find(fields.begin(), fields.end(), field) != fields.end()) continue;
    return fmt::format("'{{{}}}' is not a field of a message; {} are", field, join(fields, ", "));
  }
  return {};
}

void SettingsReader::read_sinks(const YamlNode* node) {
  if (node == nullptr || node->kind != YamlNode::Kind::map || node->entries.empty()) {
    problems_.error(node == nullptr ? 0 : node->line, "sinks",
                    "is missing or empty: name at least one sink, like events: { type: kafka, brokers: "
                    "[ localhost:9092 ] }");
    return;
  }
  for (const auto& [name, sink] : node->entries) {
    sink_names_.insert(name);
    const std::size_t errors = problems_.errors();
    read_sink(name, sink);
    if (problems_.errors() > errors) broken_sinks_.insert(name);
  }
}

void SettingsReader::check_sink_name(const std::string& name, int line) {
  if (name == kNoSink) {
    problems_.error(line, "sinks.none", "none is the route to nowhere; give the sink another name");
  } else if (!is_sink_name(name)) {
    problems_.error(line, "sinks." + name, "a sink's name is 1 to 64 letters, digits, '_', '-' and '.'");
  }
}

void SettingsReader::read_sink(const std::string& name, const YamlNode& node) {
  const std::string path = "sinks." + name;
  check_sink_name(name, node.line);
  const YamlNode* type = node.find("type");
  const SinkKind* kind = type == nullptr ? nullptr : find_kind(type->scalar);
  if (kind == nullptr) {
    const auto names = kind_names(kinds_);
    const std::string guess = type == nullptr ? "" : nearest(type->scalar, names);
    problems_.error(type == nullptr ? node.line : type->line, path + ".type",
                    fmt::format("{}; one of {} is expected{}", type == nullptr ? "is missing" : "names no kind of sink",
                                join(names, ", "), guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess)));
    return;
  }
  const std::size_t errors = problems_.errors();
  const auto table = joined(sink_options(), kind->options);
  SinkSettings sink;
  sink.name = name;
  sink.type = kind->name;
  sink.options = reader_.read(node, table, path);
  const Values& values = sink.options;
  sink.retry = with_budget(values, merge_retry(values, retry_, "retry.", node.line, path + ".retry"), "retry.");
  sink.breaker = merge_breaker(values, breaker_, "breaker.", node.line, path + ".breaker");
  sink.from_beginning = values.text("from") == "beginning";
  if (values.has("parked_max")) sink.parked_max = values.integer("parked_max");
  if (kind->check_options != nullptr) {
    for (const OptionProblem& each : kind->check_options(values)) {
      problems_.error(line_of_option(node, each.option), path + "." + each.option, each.what);
    }
  }
  if (problems_.errors() == errors && kind->check) {
    if (const auto checked = kind->check(name, values); !checked) {
      problems_.error(node.line, path, checked.failure().what);
    }
  }
  settings_.sinks.push_back(std::move(sink));
}

void SettingsReader::read_routes(const YamlNode* node) {
  if (node == nullptr || node->kind != YamlNode::Kind::sequence || node->items.empty()) {
    problems_.error(node == nullptr ? 0 : node->line, "routes",
                    "is missing or empty: a list of routes is expected, like - { sink: events }");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) read_route(node->items[i], fmt::format("routes[{}]", i));
  check_routes(*node);
}

std::optional<std::string> SettingsReader::route_sink(const YamlNode& node) const {
  const YamlNode* sink = node.find("sink");
  if (sink == nullptr || sink->kind != YamlNode::Kind::scalar) return std::nullopt;
  return sink->scalar;
}

// `kind`: of the sink that is named; null: any may be meant.
std::vector<Option> SettingsReader::with_address_options(OptionTable table, const SinkKind* kind) const {
  std::vector<Option> all(table.begin(), table.end());
  for (const SinkKind& each : kinds_) {
    if (kind != nullptr && kind != &each) continue;
    for (const std::string_view option : {each.address_option, each.second_address_option}) {
      const bool there = std::any_of(all.begin(), all.end(), [&](const Option& o) { return o.name == option; });
      if (!there && !option.empty()) all.push_back(address_row(option));
    }
  }
  return all;
}

void SettingsReader::complain_unknown_sink(const std::string& name, int line, const std::string& path,
                                           std::string_view instead) {
  const std::vector<std::string> names(sink_names_.begin(), sink_names_.end());
  const std::string guess = nearest(name, names);
  problems_.error(line, path,
                  fmt::format("'{}' is not a sink of this file; {}", name,
                              guess.empty() ? std::string(instead) : fmt::format("did you mean '{}'?", guess)));
}

void SettingsReader::read_forward(const YamlNode* node) {
  if (node == nullptr) return;
  const std::string path = "dead_letters.forward";
  const auto name = route_sink(*node);
  const SinkSettings* sink = name ? find_sink(*name) : nullptr;
  const SinkKind* kind = sink == nullptr ? nullptr : find_kind(sink->type);
  const Values values = reader_.read(*node, with_address_options(forward_options(), kind), path);
  if (!name) return;
  if (!sink_names_.contains(*name)) {
    complain_unknown_sink(*name, node->line, path + ".sink", "name one of sinks");
  } else if (sink != nullptr && kind != nullptr && !broken_sinks_.contains(*name)) {
    settings_.forward = ForwardSettings{*name, route_address(values, *kind, *sink, *node, path)};
  }
}

void SettingsReader::read_route(const YamlNode& node, const std::string& path) {
  const auto name = route_sink(node);
  const SinkSettings* sink = name ? find_sink(*name) : nullptr;
  const SinkKind* kind = sink == nullptr ? nullptr : find_kind(sink->type);
  const Values values = reader_.read(node, with_address_options(route_options(), kind), path);
  if (!name) return;

  RouteSettings route;
  route.sink = *name;
  route.owner = values.text("owner");
  if (values.has("aggregate_type")) route.aggregate_type = values.text("aggregate_type");
  if (values.has("type")) route.type = values.text("type");
  route.dead_letter_holds_key = values.has("dead_letters.key") ? values.text("dead_letters.key") == "hold" : holds_key_;
  if (values.has("retry.base") || values.has("retry.cap") || values.has("retry.attempts") || values.has("retry.age")) {
    route.retry = merge_retry(values, sink == nullptr ? retry_ : sink->retry, "retry.", node.line, path + ".retry");
  }
  if (sink != nullptr && kind != nullptr && !broken_sinks_.contains(*name)) {
    route.address = route_address(values, *kind, *sink, node, path);
  } else if (*name != kNoSink && !sink_names_.contains(*name)) {
    complain_unknown_sink(*name, node.line, path + ".sink", "name one of sinks, or none");
  }
  settings_.routes.push_back(std::move(route));
}

std::string SettingsReader::route_address(const Values& values, const SinkKind& kind, const SinkSettings& sink,
                                          const YamlNode& node, const std::string& path) {
  const auto has = [&](std::string_view option) { return !option.empty() && values.has(option); };
  const bool second_only = !has(kind.address_option) && has(kind.second_address_option);
  const bool given = has(kind.address_option) || second_only;
  const std::string key(second_only ? kind.second_address_option : kind.address_option);
  std::string address = !given               ? kind.default_address(sink.options)
                        : kind.route_address ? kind.route_address(sink.options, values)
                                             : values.text(key);
  if (std::string wrong = check_address(address); given && !wrong.empty()) {
    problems_.error(node.line, path + "." + key, unless_hidden(node, key, address, std::move(wrong)));
  } else if (!wrong.empty()) {
    problems_.error(node.line, path, fmt::format("the address that sink {} gives has an unknown {{field}}", sink.name));
  } else if (address.empty()) {
    problems_.error(node.line, path + "." + key, fmt::format("is missing: sink {} has to know where to", sink.name));
  } else if (kind.check_address != nullptr && given) {
    if (auto usable = kind.check_address(address); !usable) {
      problems_.error(node.line, path + "." + key, unless_hidden(node, key, address, usable.failure().what));
    }
  }
  return address;
}

void SettingsReader::check_routes(const YamlNode& node) {
  const auto& routes = settings_.routes;
  if (problems_.has_errors()) return;
  for (std::size_t later = 0; later < routes.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!covers(routes[earlier], routes[later])) continue;
      problems_.warning(
          node.items[later].line, fmt::format("routes[{}]", later),
          fmt::format("never matches: routes[{}] takes the same messages to {} first", earlier, routes[later].sink));
      break;
    }
  }
  const bool any_used =
      std::any_of(routes.begin(), routes.end(), [](const RouteSettings& r) { return r.sink != kNoSink; });
  if (!any_used && settings_.forward) {
    problems_.error(node.line, "routes",
                    "no route names a sink, so that nothing could become a dead letter to forward");
  }
  for (const SinkSettings& sink : settings_.sinks) {
    if (settings_.forward && settings_.forward->sink == sink.name) continue;
    const bool used =
        std::any_of(routes.begin(), routes.end(), [&](const RouteSettings& r) { return r.sink == sink.name; });
    if (!used) problems_.warning(0, "sinks." + sink.name, "no route names this sink: it gets nothing");
  }
}

}  // namespace outbox::config
