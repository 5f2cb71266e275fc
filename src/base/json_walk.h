// walk_json: reads a JSON text from front to back without building a tree, so that order and repeated names survive.
// The parser library stays behind this header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outbox {

// Hears the parts of a JSON text in their order. Returning false ends the walk.
class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;

  virtual bool null() = 0;
  virtual bool boolean(bool value) = 0;
  virtual bool number(const std::string& text) = 0;  // the shortest text that reads back as the same number
  virtual bool string(std::string& value) = 0;       // may be moved from
  virtual bool key(std::string& name) = 0;           // may be moved from
  virtual bool begin_object() = 0;
  virtual bool end_object() = 0;
  virtual bool begin_array() = 0;
  virtual bool end_array() = 0;
  virtual void syntax_error(std::size_t position) = 0;  // in bytes; the walk ends
};

// True if the whole text was walked: it is one JSON value, and the visitor did not end the walk.
bool walk_json(std::string_view text, JsonVisitor& visitor);

// True for one complete JSON value of any type.
bool is_json(std::string_view text);

}  // namespace outbox
