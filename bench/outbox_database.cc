#include "outbox_database.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <stdexcept>

#include "measure.h"

namespace outbox::bench {

Session::Session(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  if (PQstatus(connection_) == CONNECTION_OK) return;
  const std::string problem = PQerrorMessage(connection_);
  PQfinish(connection_);
  throw std::runtime_error(problem);
}

Session::~Session() { PQfinish(connection_); }

void Session::run(const std::string& sql) { static_cast<void>(value(sql)); }

std::string Session::value(const std::string& sql) {
  PGresult* result = PQexec(connection_, sql.c_str());
  const auto status = PQresultStatus(result);
  std::string first = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection_));
  return first;
}

OutboxDatabase::OutboxDatabase(const Rig& rig, const std::string& name)
    : server_(rig.postgresql), name_("bench_" + name), url_(server_.substr(0, server_.rfind('/') + 1) + name_) {
  Session session(server_);
  session.run("set client_min_messages = warning");
  session.run("drop database if exists " + name_ + " with (force)");
  session.run("create database " + name_);
  measure({daemon_path(), "init", "--database", url_});
}

OutboxDatabase::~OutboxDatabase() {
  try {
    Session(server_).run("drop database if exists " + name_ + " with (force)");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: database {} stays behind: {}\n", name_, error.what());
  }
}

void OutboxDatabase::fill(std::int64_t messages, int bytes, const std::function<void()>& before_commit) {
  Session session(url_);
  session.run("set synchronous_commit = off");
  for (std::int64_t done = 0; done < messages;) {
    const std::int64_t part = std::min<std::int64_t>(messages - done, 500'000);
    // {"n":1000001,"fill":"…"}: 22 bytes around the filling.
    session.run("begin");
    session.run(
        fmt::format("insert into outbox (id, aggregatetype, aggregateid, type, payload)"
                    " select gen_random_uuid(), 'order', (i % 10000)::text, 'OrderConfirmed',"
                    " ('{{\"n\":' || (1000000 + i)::text || ',\"fill\":\"' || rpad('', {}, md5(i::text)) ||"
                    " '\"}}')::json from generate_series({}, {}) i",
                    bytes - 22, done + 1, done + part));
    before_commit();
    session.run("commit");
    done += part;
  }
}

void OutboxDatabase::rest() {
  Session session(url_);
  session.run("vacuum analyze");
  session.run("checkpoint");
}

void OutboxDatabase::forget_position() { Session(url_).run("delete from outbox_position"); }

std::string OutboxDatabase::configuration(const Rig& rig, const std::string& options, const std::string& route) const {
  const std::string file = rig.folder + "/outboxd.yaml";
  write_text(file, fmt::format("database: {}\nlog: {{ level: warn }}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
                               "sinks:\n  out: {{ from: beginning, {} }}\nroutes:\n  - {{ sink: out{} }}\n",
                               url_, options, route.empty() ? "" : ", " + route));
  return file;
}

}  // namespace outbox::bench
