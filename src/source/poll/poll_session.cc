#include "source/poll/poll_session.h"

namespace outbox {

namespace {

// Planning costs more than an idle poll; and small statements in great number gain nothing by workers or a compiler.
constexpr const char* kSettings =
    "set plan_cache_mode = force_generic_plan; set max_parallel_workers_per_gather = 0; set jit = off;"
    "set datestyle = 'ISO';";
// The bounds of a window that stood for days are read in one go.
constexpr std::chrono::seconds kAnswerTimeout{300};

}  // namespace

PollSession::PollSession(std::string url, std::string settings, Statements statements)
    : url_(std::move(url)), settings_(kSettings + std::move(settings)), statements_(std::move(statements)) {}

Result<void> PollSession::open() {
  if (connection_ && (connection_->broken() || connection_->in_transaction())) connection_.reset();
  const bool fresh = !connection_;
  if (fresh) {
    db::PgConnectOptions options;
    options.application_name = "outboxd source";
    options.answer_timeout = kAnswerTimeout;
    auto opened = db::PgConnection::open(url_, options);
    if (!opened) return opened.failure();
    connection_ = std::move(*opened);
  }
  auto standby = connection_->run("select pg_is_in_recovery()");
  if (!standby) return standby.failure();
  if (standby->flag(0, 0)) {
    return Failure{FailureKind::refused,
                   "PostgreSQL at " + db::pg_address(url_) + " is a standby: it shows the past; name the primary"};
  }
  if (!fresh) return {};
  auto set = connection_->run(settings_);
  if (!set) {
    connection_.reset();
    return set.failure();
  }
  for (const auto& [name, sql] : statements_) {
    auto prepared = connection_->prepare(name, sql);
    if (!prepared) {
      connection_.reset();
      return prepared;
    }
  }
  return {};
}

}  // namespace outbox
