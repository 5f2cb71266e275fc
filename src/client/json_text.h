// Is this text JSON, as PostgreSQL's json and jsonb judge it? Asked before any SQL is sent, because the database's own
// refusal would doom the caller's transaction. Nothing is converted, so no number or string is re-typed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outbox::client {

// Deeper nesting is refused: PostgreSQL parses recursively within max_stack_depth, consumers have limits too.
inline constexpr std::size_t kMaxJsonDepth = 500;

struct JsonVerdict {
  std::string defect;        // why it is not JSON (RFC 8259, UTF-8), with the place; empty: it is
  std::string jsonb_defect;  // why jsonb does not take it although it is JSON; empty: it does
};

JsonVerdict judge_json(std::string_view text);

}  // namespace outbox::client
