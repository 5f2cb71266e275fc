// What the parts of the PostgreSQL store share: a connection that is opened again when it was lost, the names, and
// pieces of SQL that mean the same everywhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/postgres.h"
#include "model/position.h"
#include "model/table.h"
#include "store/postgres/names.h"

namespace outbox {

class PgSession {
 public:
  PgSession(std::string url, TableMapping table);

  // Opened now if there is none, or the last one was lost. Ours; valid until the next call.
  Result<db::PgConnection*> connection();

  const PgNames& names() const { return names_; }
  const TableMapping& table() const { return table_; }
  // The outbox table's own name for one of our columns, quoted; "" where it has none.
  std::string column(const std::string& ours) const;
  // The lane of a row of the outbox table with alias `t`.
  std::string lane_expression(const std::string& t) const;

 private:
  std::string url_;
  TableMapping table_;
  PgNames names_;
  std::unique_ptr<db::PgConnection> connection_;
};

// Microseconds since 1970 of a timestamptz; NULL where it is NULL or infinite. Read with pg_micros.
std::string sql_micros(const std::string& expression);
Time pg_micros(const db::PgRows& rows, int row, int column);  // NULL: kNever

// True where a row stands in `ahead` of position `p`.
std::string sql_ahead(const std::string& xid, const std::string& seq, const std::string& p);

// True where position `p` has passed a message by its xid and seq.
std::string sql_passed(const std::string& xid, const std::string& seq, const std::string& p);

// What stands for a message id in outbox_delivery and outbox_audit, whose indexes take some 2,700 bytes: itself, or its
// beginning and its MD5.
std::string sql_short_id(const std::string& id);
// The short forms of an array of ids, as an array.
std::string sql_short_ids(const std::string& ids);

// True for a row `d` of outbox_delivery that stands in its key's way: waiting (and due, if it only waits for its
// not_before), or dead and holding its key. Matches the index outbox_delivery_key.
std::string sql_in_the_way(const std::string& d);

std::string sql_array(const std::vector<std::string>& values);
std::string sql_array(const std::vector<std::int64_t>& values);
std::string sql_array(const std::vector<std::uint64_t>& values);

// What any text from outside has to be before it is stored: valid UTF-8 without NUL, at most 4 KiB.
std::string storable(std::string_view text);

}  // namespace outbox
