// The database that the settings name: which product it is, by the URL's scheme, is decided here and nowhere else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/database_url.h"
#include "config/settings.h"
#include "source/source.h"
#include "store/forwarding_store.h"
#include "store/leases.h"
#include "store/operator_store.h"
#include "store/schema.h"
#include "store/store.h"

namespace outbox::app {

// An outbox table as it really is, and what reads it and keeps our state beside it.
class Database {
 public:
  // Looks at the table. On PostgreSQL this connects: `unavailable` may be tried again, the other failures are for
  // people.
  static Result<Database> inspect(const config::Settings& settings);

  // True: every sink keeps a position of its own and is a feed by itself; false: all share the feed "*".
  bool positions() const { return positions_; }
  // True where several relays can divide a feed.
  bool divisible() const;
  // One line each: what this table cannot promise, and what would buy it.
  const std::vector<std::string>& notes() const { return notes_; }

  // "localhost:5432/shop", or the file; no secret.
  std::string address() const;
  // Fails on what keeps a relay from working with our tables: missing, those of an older version, on a standby.
  // Connects. False (SQLite): there are none yet, and whoever comes first makes them.
  Result<bool> check_tables() const;
  // What the database's role lacks of docs/guide/operations.md; SQLite knows no roles. `deletes`: outbox.retain is set.
  Result<std::vector<MissingGrant>> missing_grants(bool deletes) const;

  // One per sink, or one for all; without a sink that gets copies of dead letters only.
  std::vector<Feed> feeds(const config::Settings& settings) const;

  // Each call makes one of its own, for one thread. None connects.
  std::unique_ptr<Store> make_store() const;
  // What relays one feed, of one runner. The source reads the rows of these lanes; all where the table is not read by
  // position.
  struct FeedAccess {
    std::unique_ptr<Source> source;
    std::unique_ptr<Store> store;
  };
  FeedAccess make_feed_access(const Lanes& lanes) const;
  std::unique_ptr<Leases> make_leases() const;
  std::unique_ptr<OperatorStore> make_operator() const;
  std::unique_ptr<ForwardingStore> make_forwarding() const;

 private:
  struct Parts;
  explicit Database(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
  bool positions_ = true;
  std::vector<std::string> notes_;
};

// What a command that asks about an outbox needs of it.
struct OpenOutbox {
  std::unique_ptr<Store> store;
  std::vector<Feed> feeds;
};
Result<OpenOutbox> open_outbox(const config::Settings& settings);

// `outboxd init`: creates or upgrades our tables.
Result<InitReport> init_tables(const std::string& url, const InitOptions& options);

// The SQL that it would run. Connects to nothing.
Result<std::string> schema_sql(const std::string& url, const InitOptions& options);

}  // namespace outbox::app
