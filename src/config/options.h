// Option tables: every option of every component is one row of a table, and parser, lint, reference page and JSON
// Schema all come from it. A component owns its table (sink/kafka has Kafka's); config/ knows no component.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace outbox::config {

enum class OptionType {
  text,
  secret,  // text that is never printed; ${NAME} and ${NAME_FILE} are resolved as everywhere
  boolean,
  integer,   // a bare number
  duration,  // carries its unit: 10ms 5s 1m 2h 7d
  size,      // carries its unit: 64KB 16MB (powers of 1024)
  text_list,
  text_map,  // text → text
  choice,    // one of Option::choices
};

struct Option {
  std::string_view name;  // dots nest: "timeout.connect"
  OptionType type;
  std::string_view fallback;  // as it would be written in the file; "" : unset; of a required option: an example
  std::string_view help;      // one sentence for the reference page
  bool required = false;
  std::string_view choices = {};  // "a|b|c"
  std::int64_t min = INT64_MIN;   // integer as it is; duration in microseconds; size in bytes
  std::int64_t max = INT64_MAX;
};

using OptionTable = std::span<const Option>;

// The values of one component, parsed and checked against its table: every option with a fallback has a value. What was
// not given and has no fallback is an empty text, list or map; ask has() before a number. Asking for a name that is not
// in the table, or by another type, is a broken invariant.
class Values {
 public:
  bool has(std::string_view name) const;
  const std::string& text(std::string_view name) const;  // also secret and choice
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  Duration duration(std::string_view name) const;
  std::int64_t size(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;
  const std::map<std::string, std::string>& map(std::string_view name) const;

  // For the parser, and for tests that need a component without a file.
  struct Value {
    std::string text;
    std::int64_t number = 0;
    std::vector<std::string> list;
    std::map<std::string, std::string> map;
  };
  void declare(std::string_view name, OptionType type);
  void set(std::string_view name, Value value);  // of a declared option

 private:
  struct Entry {
    OptionType type = OptionType::text;
    bool given = false;
    Value value;
  };
  const Entry& entry(std::string_view name, std::initializer_list<OptionType> types) const;
  const Value& number_entry(std::string_view name, OptionType type) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

// What is wrong with one option of a component, as far as it can be known without a connection.
struct OptionProblem {
  std::string option;  // an option's name, with an entry of a map behind it ("headers.Host"); "": all of them together
  std::string what;    // what is wrong, what to do; never a value that may be secret
};

// Parses option texts (as in the file) against a table: for tests and for flags. Aborts the test by a thrown
// std::invalid_argument on bad input. Lists are separated by commas, maps are k=v,k=v.
Values parse_values(OptionTable table, const std::map<std::string, std::string>& texts);

}  // namespace outbox::config
