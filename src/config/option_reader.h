// OptionReader: turns one map of the file into Values by an option table, and complains about everything at once.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/options.h"
#include "config/problem.h"
#include "config/yaml_tree.h"

namespace outbox::config {

class OptionReader {
 public:
  OptionReader(const Environment& environment, Problems& problems) : environment_(environment), problems_(problems) {}

  // `path` stands before every key in a complaint: "sinks.events". An empty node is an empty map.
  // Keys in `elsewhere` are read by somebody else: left alone here, but offered as what a wrong key may have meant.
  Values read(const YamlNode& node, OptionTable table, const std::string& path,
              std::span<const std::string_view> elsewhere = {});

  // One value of an option, for settings that come from a flag or the environment.
  static Result<Values::Value> parse_text(const Option& option, const std::string& text);

 private:
  void read_level(const YamlNode& map, OptionTable table, const std::string& path, const std::string& prefix,
                  std::span<const std::string_view> elsewhere, Values& values);
  void read_option(const YamlNode& node, const Option& option, const std::string& key, Values& values);
  void unknown_key(const YamlNode& node, const std::string& key, const std::vector<std::string>& known);
  std::optional<std::string> scalar(const YamlNode& node, const std::string& key);
  bool read_list(const YamlNode& node, const std::string& key, Values::Value& value);
  bool read_map(const YamlNode& node, const std::string& key, Values::Value& value);

  const Environment& environment_;
  Problems& problems_;
  std::set<std::string_view> failed_;  // options of the current read that were given, but wrongly
};

// What a missing key should look like: the fallback of a required option is such an example.
std::string example_of(const Option& option);

}  // namespace outbox::config
