// Result<T>: a value or a Failure. The daemon's functions return it where failing is expected; a broken
// invariant aborts instead (OUTBOX_ASSERT). The public library throws outbox::Error (include/outbox/error.h).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace outbox {

enum class FailureKind {
  unavailable,  // the peer is out of reach or busy: the same call may succeed later
  refused,      // credentials or privileges: somebody has to act
  invalid,      // the input, the configuration or the schema is wrong: the same call never succeeds
  fenced,       // another relay has taken over: stop, settle nothing
  local,        // this machine: disk full, no permission, out of descriptors
};

// One sentence that says what, where, and what to do. It never holds a secret.
struct Failure {
  FailureKind kind = FailureKind::unavailable;
  std::string what;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)), failed_(true) {}

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
  bool failed_ = false;
};

}  // namespace outbox

// Stays on in release builds. For invariants of ours only, never for input, rows or answers of a peer.
#define OUTBOX_ASSERT(condition)                                                                       \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      std::fprintf(stderr, "outboxd: broken invariant: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                    \
    }                                                                                                  \
  } while (false)
