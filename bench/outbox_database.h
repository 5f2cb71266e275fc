// A database with our outbox table in it, for one benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rig.h"

struct pg_conn;

namespace outbox::bench {

// A connection; every failure is a std::runtime_error.
class Session {
 public:
  explicit Session(const std::string& url);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run(const std::string& sql);
  std::string value(const std::string& sql);  // first column of the first row
  pg_conn* handle() const { return connection_; }

 private:
  pg_conn* connection_;
};

class OutboxDatabase {
 public:
  // Creates the database bench_<name> anew and the tables in it.
  OutboxDatabase(const Rig& rig, const std::string& name);
  ~OutboxDatabase();
  OutboxDatabase(const OutboxDatabase&) = delete;
  OutboxDatabase& operator=(const OutboxDatabase&) = delete;

  const std::string& url() const { return url_; }
  // Adds messages of 10,000 keys with JSON payloads of `bytes` bytes. `before_commit` is called before each COMMIT.
  void fill(
      std::int64_t messages, int bytes, const std::function<void()>& before_commit = [] {});
  // vacuum and checkpoint, so that nobody pays for the fill.
  void rest();
  // The relay begins at the first message again.
  void forget_position();

  // A configuration that reads this database from the beginning into the one sink `options`; returns its path.
  std::string configuration(const Rig& rig, const std::string& options, const std::string& route = "") const;

 private:
  std::string server_;
  std::string name_;
  std::string url_;
};

}  // namespace outbox::bench
