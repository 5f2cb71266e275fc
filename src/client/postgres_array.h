// One-dimensional arrays in PostgreSQL's binary format: one parameter holds a column of all messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace outbox::client {

class PostgresArray {
 public:
  // The types' object identifiers are fixed in PostgreSQL's catalog.
  enum class Element : std::uint32_t { bytea = 17, int8 = 20, int4 = 23, timestamptz = 1184, uuid = 2950 };

  explicit PostgresArray(Element element) : element_(element) {}

  void add_null();
  void add_bytes(std::string_view bytes);
  void add_bytes(std::span<const std::uint8_t> bytes);
  void add_int4(std::int32_t value);
  void add_int8(std::int64_t value);

  // Adds by `add` what is there, and NULL for what is not.
  template <class T, class Add>
  void add_optional(const std::optional<T>& value, Add add) {
    if (value) {
      add(*this, *value);
    } else {
      add_null();
    }
  }

  std::string parameter() const;

 private:
  Element element_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string elements_;
};

}  // namespace outbox::client
