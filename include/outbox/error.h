// outbox::Error: what the library throws. enqueue throws rather than returning a status, because an ignored status
// would commit business data without its message.
#pragma once

#include <stdexcept>
#include <string>

namespace outbox {

class Error : public std::runtime_error {
 public:
  Error(const std::string& what, std::string sql_state, bool retryable, bool poisons_transaction)
      : std::runtime_error(what),
        sql_state_(std::move(sql_state)),
        retryable_(retryable),
        poisons_transaction_(poisons_transaction) {}

  // Run the whole transaction again: it may succeed then.
  bool retryable() const noexcept { return retryable_; }
  // The caller's transaction can only be rolled back now. False: it is as usable as before the call.
  bool poisons_transaction() const noexcept { return poisons_transaction_; }
  // Five characters, or empty where the database gave none (a refusal before any SQL was sent).
  const std::string& sql_state() const noexcept { return sql_state_; }

 private:
  std::string sql_state_;
  bool retryable_;
  bool poisons_transaction_;
};

}  // namespace outbox
