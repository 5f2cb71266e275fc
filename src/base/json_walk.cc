#include "base/json_walk.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace outbox {

namespace {

class Bridge : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Bridge(JsonVisitor& visitor) : visitor_(visitor) {}

  bool null() override { return visitor_.null(); }
  bool boolean(bool value) override { return visitor_.boolean(value); }
  bool number_integer(std::int64_t value) override { return visitor_.number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return visitor_.number(std::to_string(value)); }
  bool number_float(double value, const std::string&) override { return visitor_.number(fmt::format("{}", value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // JSON text has none
  bool string(std::string& value) override { return visitor_.string(value); }
  bool key(std::string& name) override { return visitor_.key(name); }
  bool start_object(std::size_t) override { return visitor_.begin_object(); }
  bool end_object() override { return visitor_.end_object(); }
  bool start_array(std::size_t) override { return visitor_.begin_array(); }
  bool end_array() override { return visitor_.end_array(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    visitor_.syntax_error(position);
    return false;
  }

 private:
  JsonVisitor& visitor_;
};

}  // namespace

bool walk_json(std::string_view text, JsonVisitor& visitor) {
  Bridge bridge(visitor);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &bridge);
}

bool is_json(std::string_view text) { return nlohmann::json::accept(text); }

}  // namespace outbox
