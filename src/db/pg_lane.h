// The lane of a key, as PostgreSQL computes it (model/lanes.h says what lanes are).
#pragma once

#include <string>

namespace outbox::db {

// An SQL expression: the first two bytes of md5(key), big-endian, modulo `lanes`. `key` is one of type text. The
// generated column of sql/postgresql/0001_outbox.up.sql says the same.
inline std::string pg_lane(const std::string& key, int lanes) {
  return "('x' || left(md5(" + key + "), 4))::bit(16)::int % " + std::to_string(lanes);
}

}  // namespace outbox::db
