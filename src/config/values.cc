#include <algorithm>
#include <stdexcept>

#include "base/result.h"
#include "base/text.h"
#include "config/option_reader.h"
#include "config/options.h"

namespace outbox::config {

const Values::Entry& Values::entry(std::string_view name, std::initializer_list<OptionType> types) const {
  const auto found = entries_.find(name);
  OUTBOX_ASSERT(found != entries_.end());
  OUTBOX_ASSERT(std::find(types.begin(), types.end(), found->second.type) != types.end());
  return found->second;
}

const Values::Value& Values::number_entry(std::string_view name, OptionType type) const {
  const Entry& found = entry(name, {type});
  OUTBOX_ASSERT(found.given);
  return found.value;
}

bool Values::has(std::string_view name) const {
  const auto found = entries_.find(name);
  OUTBOX_ASSERT(found != entries_.end());
  return found->second.given;
}

const std::string& Values::text(std::string_view name) const {
  return entry(name, {OptionType::text, OptionType::secret, OptionType::choice}).value.text;
}
bool Values::flag(std::string_view name) const { return number_entry(name, OptionType::boolean).number != 0; }
std::int64_t Values::integer(std::string_view name) const { return number_entry(name, OptionType::integer).number; }
Duration Values::duration(std::string_view name) const {
  return Duration(number_entry(name, OptionType::duration).number);
}
std::int64_t Values::size(std::string_view name) const { return number_entry(name, OptionType::size).number; }
const std::vector<std::string>& Values::list(std::string_view name) const {
  return entry(name, {OptionType::text_list}).value.list;
}
const std::map<std::string, std::string>& Values::map(std::string_view name) const {
  return entry(name, {OptionType::text_map}).value.map;
}

void Values::declare(std::string_view name, OptionType type) { entries_[std::string(name)].type = type; }

void Values::set(std::string_view name, Value value) {
  const auto found = entries_.find(name);
  OUTBOX_ASSERT(found != entries_.end());
  found->second.given = true;
  found->second.value = std::move(value);
}

Values parse_values(OptionTable table, const std::map<std::string, std::string>& texts) {
  Values values;
  for (const Option& option : table) {
    values.declare(option.name, option.type);
    const auto given = texts.find(std::string(option.name));
    if (given == texts.end() && option.required) throw std::invalid_argument(std::string(option.name) + " is missing");
    if (given == texts.end() && option.fallback.empty()) continue;
    auto value = OptionReader::parse_text(option, given == texts.end() ? std::string(option.fallback) : given->second);
    if (!value) throw std::invalid_argument(std::string(option.name) + ": " + value.failure().what);
    values.set(option.name, std::move(*value));
  }
  for (const auto& given : texts) {
    const std::string& name = given.first;
    const bool known = std::any_of(table.begin(), table.end(), [&](const Option& each) { return each.name == name; });
    if (!known) throw std::invalid_argument(name + " is not an option");
  }
  return values;
}

}  // namespace outbox::config
