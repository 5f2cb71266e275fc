#include "source/poll/poll_session.h"

#include "base/log.h"

namespace outbox {

namespace {

// Planning costs more than an idle poll; and small statements in great number gain nothing by workers or a compiler.
// Row-level security that would hide rows, which are then passed as if they had been sent, is an error.
constexpr const char* kSettings[] = {"plan_cache_mode = force_generic_plan", "max_parallel_workers_per_gather = 0",
                                     "jit = off", "datestyle = 'ISO'", "row_security = off"};
// The bounds of a window that stood for days are read in one go.
constexpr std::chrono::seconds kAnswerTimeout{300};

}  // namespace

PollSession::PollSession(std::string url, std::vector<std::string> settings, Statements statements)
    : url_(std::move(url)), settings_(std::move(settings)), statements_(std::move(statements)) {
  settings_.insert(settings_.begin(), std::begin(kSettings), std::end(kSettings));
}

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
  auto server = connection_->run("select pg_is_in_recovery()");
  if (!server) return server.failure();
  if (server->flag(0, 0)) {
    return Failure{FailureKind::refused,
                   "PostgreSQL at " + db::pg_address(url_) + " is a standby: it shows the past; name the primary"};
  }
  if (!fresh) return {};
  auto pooled = connection_->pooled();
  if (!pooled) return pooled.failure();
  pooled_ = *pooled;
  if (pooled_) {
    log::every(std::chrono::hours(1), "pooler", log::Level::info,
               "a connection pooler stands before the database: statements are planned at each poll",
               {{"database", db::pg_address(url_)}});
    return {};
  }
  if (auto prepared = prepare(); !prepared) {
    connection_.reset();
    return prepared;
  }
  return {};
}

Result<void> PollSession::prepare() {
  if (auto set = connection_->run(set_sql("set ")); !set) return set.failure();
  for (const auto& [name, sql] : statements_) {
    if (auto prepared = connection_->prepare(name, sql); !prepared) return prepared;
  }
  return {};
}

std::string PollSession::set_sql(const std::string& set) const {
  std::string sql;
  for (const auto& setting : settings_) sql += set + setting + ";";
  return sql;
}

Result<db::PgRows> PollSession::run(const std::string& sql) {
  if (!connection_) return Failure{FailureKind::unavailable, "the source is not open"};
  return connection_->run(sql);
}

Result<void> PollSession::stream(const std::string& name, const db::PgValues& values,
                                 const std::function<bool(const db::PgRows&)>& row) {
  if (!connection_) return Failure{FailureKind::unavailable, "the source is not open"};
  if (!pooled_) return connection_->stream(name, values, row);
  // Nothing may stay behind in a session that the pooler lends to the next one: the settings end with the transaction.
  if (auto begun = connection_->run("begin read only;" + set_sql("set local ")); !begun) return begun.failure();
  if (auto streamed = connection_->stream_unnamed(statements_.at(name), values, row); !streamed) return streamed;
  // A statement that was cut short has aborted the transaction: this ends it all the same.
  if (auto ended = connection_->run("commit"); !ended) return ended.failure();
  return {};
}

}  // namespace outbox
