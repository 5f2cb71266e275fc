#include "config/option_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "config/units.h"

namespace outbox::config {

namespace {

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

const Option* find_option(OptionTable table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Option& option) { return option.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool is_section(OptionTable table, const std::string& name) {
  return std::any_of(table.begin(), table.end(),
                     [&](const Option& option) { return option.name.starts_with(name + "."); });
}

// The keys that may stand in the map that `prefix` leads to: "timeout." → connect, total.
std::vector<std::string> keys_at(OptionTable table, const std::string& prefix) {
  std::vector<std::string> keys;
  for (const Option& option : table) {
    if (!option.name.starts_with(prefix)) continue;
    const std::string_view rest = option.name.substr(prefix.size());
    std::string key(rest.substr(0, rest.find('.')));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  }
  return keys;
}

std::string number_text(const Option& option, std::int64_t number) {
  if (option.type == OptionType::duration) return to_text(Duration(number));
  if (option.type == OptionType::size) return size_text(number);
  return std::to_string(number);
}

Result<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid(fmt::format("'{}' is not a whole number", text));
  }
  return number;
}

Result<std::int64_t> parse_boolean(const std::string& text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  return invalid(fmt::format("'{}' is neither true nor false; write one of them", text));
}

Result<std::int64_t> parse_number(const Option& option, const std::string& text) {
  switch (option.type) {
    case OptionType::boolean: return parse_boolean(text);
    case OptionType::size: return parse_size(text);
    case OptionType::duration: {
      const auto duration = parse_duration(text);
      if (!duration) return duration.failure();
      return duration->count();
    }
    default: return parse_integer(text);
  }
}

Result<void> check_range(const Option& option, const std::string& text, std::int64_t number) {
  if (number < option.min) {
    return invalid(fmt::format("'{}' is too small; {} is the least", text, number_text(option, option.min)));
  }
  if (number > option.max) {
    return invalid(fmt::format("'{}' is too large; {} is the most", text, number_text(option, option.max)));
  }
  return {};
}

Result<void> check_choice(const Option& option, const std::string& text) {
  const auto choices = split(option.choices, '|');
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  const std::string guess = nearest(text, choices);
  return invalid(fmt::format("'{}' is not one of {}{}", text, join(choices, ", "),
                             guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess)));
}

}  // namespace

std::string example_of(const Option& option) {
  if (!option.fallback.empty()) return std::string(option.fallback);
  switch (option.type) {
    case OptionType::boolean: return "true";
    case OptionType::integer: return "10";
    case OptionType::duration: return "10s";
    case OptionType::size: return "16MB";
    case OptionType::text_list: return "[ … ]";
    case OptionType::text_map: return "{ name: … }";
    case OptionType::choice: return split(option.choices, '|').front();
    case OptionType::text: return "…";
    case OptionType::secret: return "${NAME}";
  }
  return "…";
}

Result<Values::Value> OptionReader::parse_text(const Option& option, const std::string& text) {
  Values::Value value;
  switch (option.type) {
    case OptionType::text:
    case OptionType::secret: value.text = text; return value;
    case OptionType::choice: {
      if (auto checked = check_choice(option, text); !checked) return checked.failure();
      value.text = text;
      return value;
    }
    case OptionType::text_list:
      for (const std::string& part : split(text, ',')) value.list.emplace_back(trim(part));
      return value;
    case OptionType::text_map:
      for (const std::string& part : split(text, ',')) {
        const auto equals = part.find('=');
        if (equals == std::string::npos) return invalid("is not written name=value");
        value.map[std::string(trim(part.substr(0, equals)))] = trim(part.substr(equals + 1));
      }
      return value;
    default: break;
  }
  const auto number = parse_number(option, text);
  if (!number) return number.failure();
  if (auto checked = check_range(option, text, *number); !checked) return checked.failure();
  value.number = *number;
  return value;
}

Values OptionReader::read(const YamlNode& node, OptionTable table, const std::string& path,
                          std::span<const std::string_view> elsewhere) {
  Values values;
  failed_.clear();
  for (const Option& option : table) values.declare(option.name, option.type);
  if (node.kind == YamlNode::Kind::map) {
    read_level(node, table, path, "", elsewhere, values);
  } else if (node.kind != YamlNode::Kind::null) {
    problems_.error(node.line, path, fmt::format("is a {}; a map of options is expected", node.kind_name()));
    return values;
  }
  for (const Option& option : table) {
    if (values.has(option.name)) continue;
    const std::string key = path.empty() ? std::string(option.name) : fmt::format("{}.{}", path, option.name);
    if (option.required) {
      if (!failed_.contains(option.name)) {
        problems_.error(node.line, key,
                        fmt::format("is missing ({}); write {}: {}", option.help,
                                    option.name.substr(option.name.rfind('.') + 1), example_of(option)));
      }
    } else if (!option.fallback.empty()) {
      auto value = parse_text(option, std::string(option.fallback));
      OUTBOX_ASSERT(value.has_value());
      values.set(option.name, std::move(*value));
    }
  }
  return values;
}

void OptionReader::read_level(const YamlNode& map, OptionTable table, const std::string& path,
                              const std::string& prefix, std::span<const std::string_view> elsewhere, Values& values) {
  for (const auto& [name, node] : map.entries) {
    const std::string option_name = prefix + name;
    const std::string key = path.empty() ? option_name : path + "." + option_name;
    if (const Option* option = find_option(table, option_name)) {
      read_option(node, *option, key, values);
    } else if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) {
      continue;
    } else if (!is_section(table, option_name)) {
      auto known = keys_at(table, prefix);
      known.insert(known.end(), elsewhere.begin(), elsewhere.end());
      unknown_key(node, key, known);
    } else if (node.kind == YamlNode::Kind::map) {
      read_level(node, table, path, option_name + ".", {}, values);
    } else {
      problems_.error(node.line, key,
                      fmt::format("is a {}; a map with {} is expected", node.kind_name(),
                                  join(keys_at(table, option_name + "."), ", ")));
    }
  }
}

void OptionReader::unknown_key(const YamlNode& node, const std::string& key, const std::vector<std::string>& known) {
  const std::string guess = nearest(key.substr(key.rfind('.') + 1), known);
  problems_.error(node.line, key,
                  guess.empty() ? fmt::format("unknown key; known here: {}", join(known, ", "))
                                : fmt::format("unknown key; did you mean '{}'?", guess));
}

void OptionReader::read_option(const YamlNode& node, const Option& option, const std::string& key, Values& values) {
  Values::Value value;
  bool good = false;
  if (option.type == OptionType::text_list) {
    good = read_list(node, key, value);
  } else if (option.type == OptionType::text_map) {
    good = read_map(node, key, value);
  } else if (const auto text = scalar(node, key)) {
    auto parsed = parse_text(option, *text);
    good = parsed.has_value();
    if (good) {
      value = std::move(*parsed);
    } else {
      // What came from the environment may be secret wherever it stands, so a complaint shows the text of the file.
      problems_.error(node.line, key,
                      *text == node.scalar ? parsed.failure().what
                                           : fmt::format("'{}' does not hold a valid value here", node.scalar));
    }
  }
  if (good) {
    values.set(option.name, std::move(value));
  } else {
    failed_.insert(option.name);
  }
}

std::optional<std::string> OptionReader::scalar(const YamlNode& node, const std::string& key) {
  if (node.kind == YamlNode::Kind::null) {
    problems_.error(node.line, key, "has no value; give it one or remove the key");
    return std::nullopt;
  }
  if (node.kind != YamlNode::Kind::scalar) {
    problems_.error(node.line, key, fmt::format("is a {}; a single value is expected", node.kind_name()));
    return std::nullopt;
  }
  auto text = node.literal ? Result<std::string>(node.scalar) : interpolate(node.scalar, environment_);
  if (!text) {
    problems_.error(node.line, key, text.failure().what);
    return std::nullopt;
  }
  if (text->find('\0') != std::string::npos) {
    problems_.error(node.line, key, "holds a NUL byte");
    return std::nullopt;
  }
  return *std::move(text);
}

bool OptionReader::read_list(const YamlNode& node, const std::string& key, Values::Value& value) {
  if (node.kind == YamlNode::Kind::scalar) {
    const auto text = scalar(node, key);
    if (text) value.list.push_back(*text);
    return text.has_value();
  }
  if (node.kind != YamlNode::Kind::sequence || node.items.empty()) {
    problems_.error(node.line, key, "a list with at least one entry is expected, like [ a, b ]");
    return false;
  }
  for (const YamlNode& item : node.items) {
    const auto text = scalar(item, key);
    if (!text) return false;
    value.list.push_back(*text);
  }
  return true;
}

bool OptionReader::read_map(const YamlNode& node, const std::string& key, Values::Value& value) {
  if (node.kind != YamlNode::Kind::map && node.kind != YamlNode::Kind::null) {
    problems_.error(node.line, key,
                    fmt::format("is a {}; a map is expected, like {{ name: value }}", node.kind_name()));
    return false;
  }
  bool good = true;
  for (const auto& [name, item] : node.entries) {
    if (item.kind == YamlNode::Kind::null) {
      value.map[name] = "";
    } else if (const auto text = scalar(item, key + "." + name)) {
      value.map[name] = *text;
    } else {
      good = false;
    }
  }
  return good;
}

}  // namespace outbox::config
