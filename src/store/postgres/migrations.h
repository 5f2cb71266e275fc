// The migrations of sql/postgresql with the names and types of one installation filled in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/schema.h"

namespace outbox {

struct Migration {
  int version = 0;
  std::string name;  // "0001_outbox"
  std::string up;
  std::string down;
  bool makes_outbox = false;  // left out where the outbox table is somebody else's
};

// Ascending. `invalid` for an unknown payload type.
Result<std::vector<Migration>> postgres_migrations(const InitOptions& options);

// Replaces the words outbox and outbox_… by this installation's names.
std::string with_names(std::string_view sql, const std::string& table);

}  // namespace outbox
