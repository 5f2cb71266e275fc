#include "client/postgres_array.h"

#include <cstddef>

#include "client/utc_text.h"

namespace outbox::client {
namespace {

template <class Unsigned>
void append(std::string& bytes, Unsigned value) {
  for (std::size_t i = sizeof(Unsigned); i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

// What bytea reads is \x6162: a backslash doubled for the array, and both doubled again for the E'' string.
void append_hex(std::string& literal, std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  literal.reserve(literal.size() + 5 + 2 * bytes.size());
  literal += R"(\\\\x)";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    literal += kDigits[byte >> 4];
    literal += kDigits[byte & 15];
  }
}

const char* type_name(PostgresArray::Element element) {
  switch (element) {
    case PostgresArray::Element::bytea: return "bytea";
    case PostgresArray::Element::int8: return "int8";
    case PostgresArray::Element::int4: return "int4";
    case PostgresArray::Element::timestamptz: return "timestamptz";
    case PostgresArray::Element::uuid: return "uuid";
  }
  return "";
}

std::int64_t microseconds_since_2000(std::chrono::sys_time<std::chrono::microseconds> time) {
  using std::chrono::year;
  return (time - std::chrono::sys_days(year(2000) / 1 / 1)).count();
}

}  // namespace

PostgresArray::PostgresArray(Element element, detail::PostgresSession::Values values)
    : element_(element), values_(values) {
  if (binary()) {
    text_.resize(20);  // the header, written at the end
  } else {
    text_ = "E'{";
  }
}

void PostgresArray::separate() {
  if (count_++ > 0 && !binary()) text_ += ',';
}

void PostgresArray::add_null() {
  separate();
  has_null_ = true;
  if (binary()) {
    append(text_, static_cast<std::uint32_t>(-1));
  } else {
    text_ += "NULL";
  }
}

void PostgresArray::add_bytes(std::string_view bytes) {
  separate();
  if (binary()) {
    append(text_, static_cast<std::uint32_t>(bytes.size()));
    text_ += bytes;
  } else {
    append_hex(text_, bytes);
  }
}

void PostgresArray::add_uuid(const Uuid& uuid) {
  if (binary()) return add_bytes(std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()));
  separate();
  text_ += uuid_text(uuid);
}

void PostgresArray::add_int4(std::int32_t value) {
  separate();
  if (binary()) {
    append(text_, std::uint32_t{4});
    append(text_, static_cast<std::uint32_t>(value));
  } else {
    text_ += std::to_string(value);
  }
}

void PostgresArray::add_int8(std::int64_t value) {
  separate();
  if (binary()) {
    append(text_, std::uint32_t{8});
    append(text_, static_cast<std::uint64_t>(value));
  } else {
    text_ += std::to_string(value);
  }
}

void PostgresArray::add_time(std::chrono::sys_time<std::chrono::microseconds> time) {
  if (binary()) return add_int8(microseconds_since_2000(time));
  separate();
  text_ += utc_text(time);
}

std::string PostgresArray::finish() && {
  if (!binary()) return std::move(text_) + "}'::" + type_name(element_) + "[]";
  std::string header;
  append(header, std::uint32_t{1});  // dimensions
  append(header, std::uint32_t{has_null_});
  append(header, static_cast<std::uint32_t>(element_));
  append(header, count_);
  append(header, std::uint32_t{1});  // the first index
  return std::move(text_.replace(0, header.size(), header));
}

}  // namespace outbox::client
