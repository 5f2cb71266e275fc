// The database URL: which product it means, and what of it may be shown.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::config {

enum class DatabaseKind { postgresql, sqlite };

// Fails `invalid`, listing the choices, or if special characters are not percent-encoded, like a '@' in a password;
// nothing of the URL is shown.
Result<DatabaseKind> database_kind(std::string_view url);

// "postgresql://localhost:5432/shop", "sqlite:shop.db": without user, password and parameters.
std::string printable_database(std::string_view url);

// What follows "sqlite:".
std::string sqlite_file(std::string_view url);

}  // namespace outbox::config
