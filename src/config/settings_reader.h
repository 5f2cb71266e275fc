// SettingsReader: the sections of a parsed file, read one by one into Settings, with the checks that need more than one
// option. Behind config/load.h.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/option_reader.h"
#include "config/yaml_tree.h"

namespace outbox::config {

class SettingsReader {
 public:
  SettingsReader(const LoadContext& context, Problems& problems)
      : kinds_(context.kinds), problems_(problems), reader_(context.environment, problems) {}

  Settings read(const YamlNode& root);

 private:
  void read_top(const YamlNode& root);
  void read_outbox(const YamlNode& node);
  void read_defaults(const YamlNode& root);
  void read_admin(const YamlNode& node);
  void read_log(const YamlNode& node);
  void read_sinks(const YamlNode* node);
  void read_sink(const std::string& name, const YamlNode& node);
  void check_sink_name(const std::string& name, int line);
  void read_forward(const YamlNode* node);
  void read_routes(const YamlNode* node);
  void read_route(const YamlNode& node, const std::string& path);
  std::vector<Option> with_address_options(OptionTable table, const SinkKind* kind) const;
  void complain_unknown_sink(const std::string& name, int line, const std::string& path, std::string_view instead);
  std::optional<std::string> route_sink(const YamlNode& node) const;
  std::string route_address(const Values& values, const SinkKind& kind, const SinkSettings& sink, const YamlNode& node,
                            const std::string& path);
  void check_routes(const YamlNode& node);

  RetrySettings merge_retry(const Values& values, RetrySettings retry, const std::string& prefix, int line,
                            const std::string& path);
  static RetrySettings with_budget(const Values& values, RetrySettings retry, const std::string& prefix);
  BreakerSettings merge_breaker(const Values& values, BreakerSettings breaker, const std::string& prefix, int line,
                                const std::string& path);
  void check_names(const std::map<std::string, std::string>& given, std::span<const std::string_view> known,
                   const YamlNode& node, const std::string& path);

  const SinkKind* find_kind(std::string_view type) const;
  const SinkSettings* find_sink(const std::string& name) const;

  std::span<const SinkKind> kinds_;
  Problems& problems_;
  OptionReader reader_;
  Settings settings_;
  RetrySettings retry_;
  BreakerSettings breaker_;
  bool holds_key_ = false;
  std::set<std::string> sink_names_;    // also of sinks that could not be read
  std::set<std::string> broken_sinks_;  // had an error of their own: no conclusions from them
};

// The {fields} of an address template: an error text for what is not a message's field, empty if all is well.
std::string check_address(const std::string& address);

// `complaint` shows `value`, which is fine if the file does so too; what came in by ${NAME} may be secret.
std::string unless_hidden(const YamlNode& node, std::string_view key, const std::string& value, std::string complaint);

}  // namespace outbox::config
