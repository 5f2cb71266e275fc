// One-dimensional arrays for PostgreSQL: one value holds a column of all messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/uuid.h"
#include "outbox/detail/postgres_session.h"

namespace outbox::client {

class PostgresArray {
 public:
  // The types' object identifiers are fixed in PostgreSQL's catalog.
  enum class Element : std::uint32_t { bytea = 17, int8 = 20, int4 = 23, timestamptz = 1184, uuid = 2950 };

  PostgresArray(Element element, detail::PostgresSession::Values values);

  void add_null();
  void add_bytes(std::string_view bytes);
  void add_uuid(const Uuid& uuid);
  void add_int4(std::int32_t value);
  void add_int8(std::int64_t value);
  void add_time(std::chrono::sys_time<std::chrono::microseconds> time);

  // Adds by `add` what is there, and NULL for what is not.
  template <class T, class Add>
  void add_optional(const std::optional<T>& value, Add add) {
    if (value) {
      (this->*add)(*value);
    } else {
      add_null();
    }
  }

  // The array in binary format, or as an expression of SQL that reads the same in every session.
  std::string finish() &&;

 private:
  bool binary() const { return values_ == detail::PostgresSession::Values::parameters; }
  void separate();

  Element element_;
  detail::PostgresSession::Values values_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string text_;
};

}  // namespace outbox::client
