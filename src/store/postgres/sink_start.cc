#include "store/postgres/sink_start.h"

#include "base/log.h"

namespace outbox {

namespace {

constexpr const char* kStart = "start:";
constexpr std::int64_t kCountMax = 10'000;

Result<void> say_passed_over(db::PgConnection& connection, const PgSession& session, const Feed& feed) {
  auto rows = connection.run("select count(*) from (select from " + session.names().outbox + " limit " +
                             std::to_string(kCountMax + 1) + ") r");
  if (!rows) return rows.failure();
  const auto count = rows->integer(0, 0);
  if (count == 0) return {};
  log::warn("a sink without a stored position begins now: the rows that are there are passed over",
            {{"sink", feed.name},
             {"passed_over", count > kCountMax ? std::to_string(kCountMax) + " or more" : std::to_string(count)},
             {"hint", "to have them sent, start it under a new name with from: beginning, and forget this one"}});
  return {};
}

}  // namespace

Result<bool> begins_now(db::PgConnection& connection, const PgSession& session, const Feed& feed) {
  if (!feed.positions || feed.from_beginning) return false;
  auto rows = connection.query(
      "select exists (select from " + session.names().position + " where sink = $1 and s1 is not null)", {feed.name});
  if (!rows) return rows.failure();
  return !rows->flag(0, 0);
}

Result<void> note_start(db::PgConnection& connection, const PgSession& session, const Feed& feed,
                        const std::string& snapshot) {
  auto noted = connection.query("insert into " + session.names().meta +
                                    " (name, value) values ($1, $2) on conflict (name) do update set value ="
                                    " excluded.value",
                                {kStart + feed.name, snapshot});
  if (!noted) return noted.failure();
  return say_passed_over(connection, session, feed);
}

Result<void> forget_start(db::PgConnection& connection, const PgSession& session, const std::string& sink) {
  auto gone = connection.query("delete from " + session.names().meta + " where name = $1", {kStart + sink});
  if (!gone) return gone.failure();
  return {};
}

std::string sql_forget_starts(const PgSession& session) {
  return "delete from " + session.names().meta + " where name like '" + kStart + "%'";
}

std::string sql_skipped(const PgSession& session, const std::string& xid, const std::string& p) {
  return "coalesce(pg_visible_in_snapshot(" + xid + ", (select value from " + session.names().meta + " where name = '" +
         kStart + "' || " + p + ".sink)::pg_snapshot), false)";
}

}  // namespace outbox
