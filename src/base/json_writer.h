// JsonWriter: builds one JSON document as text. For status, health, schema and the log; never for payloads.
//
//   JsonWriter json;
//   json.begin_object().key("ready").value(true).end_object();
//
// Bytes that are not UTF-8 come out as U+FFFD, so that the document is always valid.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace outbox {

// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(std::integral auto number) { return raw(std::to_string(number)); }
  JsonWriter& value(double number);
  JsonWriter& null() { return raw("null"); }
  // A complete JSON value that was made elsewhere.
  JsonWriter& raw(std::string_view json);

  const std::string& text() const { return text_; }

 private:
  void separate();
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);

  std::string text_;
};

}  // namespace outbox
