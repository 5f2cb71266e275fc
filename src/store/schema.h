// Creating and upgrading our tables (`outboxd init`). Migrations are the numbered files of sql/<database>/, up and
// down, readable and runnable by hand; they are compiled into the binary.
//
// store/postgres and store/sqlite implement these two functions each, in their own header, with these values.
#pragma once

#include <string>
#include <vector>

namespace outbox {

struct InitOptions {
  std::string table = "outbox";  // "shop.outbox": schema shop; "billing_outbox": every name gets the prefix "billing_"
  std::string payload = "json";  // json | jsonb | bytea (PostgreSQL); SQLite keeps what it is given
  std::string capture = "poll";
};

// A privilege that the database's role needs and does not have.
struct MissingGrant {
  std::string what;
  std::string statement;  // that gives it
  bool needed = true;     // false: a relay runs without it
};

struct InitReport {
  std::vector<std::string> applied;  // names of the migrations applied now; empty: was up to date
  int version = 0;
};

}  // namespace outbox
