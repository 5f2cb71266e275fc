#include <string>
#include <string_view>

#include "outbox/detail/postgres_session.h"
#include "outbox/error.h"

namespace outbox::detail {
namespace {

// Would the same transaction, run again from its beginning, have a chance? Conflicts with others, what an operator or
// the server's resources stopped, a lost connection.
bool is_retryable(std::string_view state) {
  const std::string_view of_class = state.substr(0, 2);
  return state.empty() || of_class == "40" || of_class == "08" || of_class == "53" || of_class == "57" ||
         state == "55P03";
}

// Without the severity that some drivers put before it, and without the lines after it, which may quote the row.
std::string primary_message(std::string_view text) {
  static constexpr std::string_view kSeverity = "ERROR:  ";
  if (text.starts_with(kSeverity)) text.remove_prefix(kSeverity.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

void throw_postgres_error(std::string_view sql_state, std::string_view message) {
  const bool retryable = is_retryable(sql_state);
  std::string what = "enqueue failed: " + primary_message(message);
  if (!sql_state.empty()) what += " (SQLSTATE " + std::string(sql_state) + ")";
  what += retryable ? ": roll back and retry the transaction" : ": roll back";
  throw Error(what, std::string(sql_state), retryable, true);
}

}  // namespace outbox::detail
