#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "config/describe.h"
#include "config/sections.h"

namespace outbox::config {

namespace {

constexpr std::string_view kVariable = "\\\\$\\\\{[A-Za-z_][A-Za-z0-9_]*\\\\}";

// A value that the environment gives cannot be typed by an editor: `${NAME}` is always allowed.
std::string pattern(std::string_view units) {
  return fmt::format(R"({{"type":"string","pattern":"^([0-9]+(\\.[0-9]+)?({})|{})$"}})", units, kVariable);
}

std::string or_variable(std::string_view type) {
  return fmt::format(R"({{"anyOf":[{},{{"type":"string","pattern":"^{}$"}}]}})", type, kVariable);
}

std::string choice_schema(const Option& option) {
  JsonWriter json;
  json.begin_object().key("enum").begin_array();
  for (const std::string& choice : split(option.choices, '|')) json.value(choice);
  json.end_array().end_object();
  return json.text();
}

std::string integer_schema(const Option& option) {
  std::string type = R"({"type":"integer")";
  if (option.min != INT64_MIN) type += fmt::format(R"(,"minimum":{})", option.min);
  if (option.max != INT64_MAX) type += fmt::format(R"(,"maximum":{})", option.max);
  return or_variable(type + "}");
}

std::string type_schema(const Option& option) {
  constexpr std::string_view kScalar = R"({"type":["string","number","boolean"]})";
  switch (option.type) {
    case OptionType::text:
    case OptionType::secret: return std::string(kScalar);
    case OptionType::boolean: return or_variable(R"({"type":"boolean"})");
    case OptionType::integer: return integer_schema(option);
    case OptionType::duration: return pattern("us|ms|s|m|h|d");
    case OptionType::size: return pattern("B|KB|MB|GB");
    case OptionType::text_list:
      return fmt::format(R"({{"anyOf":[{0},{{"type":"array","minItems":1,"items":{0}}}]}})", kScalar);
    case OptionType::text_map:
      return R"({"type":"object","additionalProperties":{"type":["string","number","boolean","null"]}})";
    case OptionType::choice: return or_variable(choice_schema(option));
  }
  return "true";
}

// The type and what the reference page says of it.
std::string value_schema(const Option& option) {
  JsonWriter json;
  json.begin_object().key("description").value(option.help);
  if (!option.required && !option.fallback.empty()) json.key("default").value(option.fallback);
  json.key("allOf").begin_array().raw(type_schema(option)).end_array().end_object();
  return json.text();
}

// A tree of objects out of dotted names. `more` holds properties that are no options, ready made.
struct Property {
  std::string name;
  std::string schema;
  bool required = false;
};

std::string object_schema(const std::vector<Option>& options, const std::string& prefix,
                          const std::vector<Property>& more = {}) {
  JsonWriter json;
  std::vector<std::string> required;
  std::vector<std::string> seen;
  json.begin_object().key("type").value("object").key("additionalProperties").value(false);
  json.key("properties").begin_object();
  for (const Property& property : more) {
    json.key(property.name).raw(property.schema);
    if (property.required) required.push_back(property.name);
  }
  for (const Option& option : options) {
    if (!option.name.starts_with(prefix)) continue;
    const std::string_view rest = option.name.substr(prefix.size());
    const auto dot = rest.find('.');
    const std::string name(rest.substr(0, dot));
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    json.key(name).raw(dot == std::string_view::npos ? value_schema(option)
                                                     : object_schema(options, prefix + name + "."));
    if (option.required) required.push_back(name);
  }
  json.end_object();
  if (!required.empty()) {
    json.key("required").begin_array();
    for (const std::string& name : required) json.value(name);
    json.end_array();
  }
  json.end_object();
  return json.text();
}

std::vector<Option> to_vector(OptionTable table) { return {table.begin(), table.end()}; }

std::string sink_schema(std::span<const SinkKind> kinds) {
  JsonWriter json;
  json.begin_object().key("oneOf").begin_array();
  for (const SinkKind& kind : kinds) {
    std::vector<Option> options;
    for (const Option& option : sink_options()) {
      if (option.name != "type") options.push_back(option);
    }
    options.insert(options.end(), kind.options.begin(), kind.options.end());
    const std::string schema =
        object_schema(options, "", {{"type", fmt::format(R"({{"const":"{}"}})", kind.name), true}});
    json.raw(schema);
  }
  json.end_array().end_object();
  return json.text();
}

// A table's options, and those that say where to for any kind of sink.
std::string addressed_schema(OptionTable table, std::span<const SinkKind> kinds) {
  std::vector<Property> addresses;
  for (const SinkKind& kind : kinds) {
    for (const std::string_view option : {kind.address_option, kind.second_address_option}) {
      const bool known =
          std::any_of(addresses.begin(), addresses.end(), [&](const Property& each) { return each.name == option; });
      if (option.empty() || known) continue;
      addresses.push_back(
          {std::string(option), R"({"description":"where to; {field} is a field of the message","type":"string"})"});
    }
  }
  return object_schema(to_vector(table), "", addresses);
}

}  // namespace

std::string json_schema(std::span<const SinkKind> kinds) {
  std::vector<Property> parts;
  for (const Section& section : sections()) {
    if (section.path == "sinks.NAME") {
      parts.push_back(
          {"sinks",
           fmt::format(R"({{"type":"object","minProperties":1,"additionalProperties":{}}})", sink_schema(kinds)),
           true});
    } else if (section.path == "routes[]") {
      parts.push_back(
          {"routes",
           fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", addressed_schema(route_options(), kinds)),
           true});
    } else if (section.path == "dead_letters") {
      parts.push_back({"dead_letters", object_schema(to_vector(section.options), "",
                                                     {{"forward", addressed_schema(forward_options(), kinds)}})});
    } else if (section.path != "dead_letters.forward" && !section.path.empty()) {
      parts.push_back({std::string(section.path), object_schema(to_vector(section.options), "")});
    }
  }
  std::string schema = object_schema(to_vector(top_options()), "", parts);
  return R"({"$schema":"https://json-schema.org/draft/2020-12/schema","title":"outboxd configuration",)" +
         schema.substr(1) + "\n";
}

}  // namespace outbox::config
