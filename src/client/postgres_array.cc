#include "client/postgres_array.h"

#include <cstddef>

namespace outbox::client {
namespace {

template <class Unsigned>
void append(std::string& bytes, Unsigned value) {
  for (std::size_t i = sizeof(Unsigned); i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

void PostgresArray::add_null() {
  append(elements_, static_cast<std::uint32_t>(-1));
  has_null_ = true;
  ++count_;
}

void PostgresArray::add_bytes(std::string_view bytes) {
  append(elements_, static_cast<std::uint32_t>(bytes.size()));
  elements_ += bytes;
  ++count_;
}

void PostgresArray::add_bytes(std::span<const std::uint8_t> bytes) {
  add_bytes(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void PostgresArray::add_int4(std::int32_t value) {
  append(elements_, std::uint32_t{4});
  append(elements_, static_cast<std::uint32_t>(value));
  ++count_;
}

void PostgresArray::add_int8(std::int64_t value) {
  append(elements_, std::uint32_t{8});
  append(elements_, static_cast<std::uint64_t>(value));
  ++count_;
}

std::string PostgresArray::parameter() const {
  std::string bytes;
  bytes.reserve(20 + elements_.size());
  append(bytes, std::uint32_t{1});  // dimensions
  append(bytes, std::uint32_t{has_null_});
  append(bytes, static_cast<std::uint32_t>(element_));
  append(bytes, count_);
  append(bytes, std::uint32_t{1});  // the first index
  bytes += elements_;
  return bytes;
}

}  // namespace outbox::client
