#include "store/postgres/session.h"

#include "db/pg_lane.h"
#include "model/lanes.h"

#include <utility>

namespace outbox {

namespace {

constexpr std::size_t kTextMax = 4096;
constexpr const char* kIdMax = "2000";  // bytes, as SQL

// Length of the valid UTF-8 sequence at the front; 0 if there is none. Surrogates and overlong forms are refused.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    return follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

template <class T>
std::string array_of_numbers(const std::vector<T>& values) {
  std::string literal = "{";
  for (const auto value : values) {
    if (literal.size() > 1) literal += ',';
    literal += std::to_string(value);
  }
  return literal + '}';
}

}  // namespace

PgSession::PgSession(std::string url, TableMapping table)
    : url_(std::move(url)), table_(std::move(table)), names_(pg_names(table_.table, table_.prefix)) {}

Result<db::PgConnection*> PgSession::connection() {
  if (connection_ && (connection_->broken() || connection_->in_transaction())) connection_.reset();
  if (!connection_) {
    db::PgConnectOptions options;
    options.application_name = "outboxd store";
    auto opened = db::PgConnection::open(url_, options);
    if (!opened) return opened.failure();
    connection_ = std::move(*opened);
  }
  return connection_.get();
}

std::string PgSession::column(const std::string& ours) const {
  const auto found = table_.columns.find(ours);
  return found == table_.columns.end() || found->second.empty() ? "" : db::pg_identifier(found->second);
}

std::string PgSession::lane_expression(const std::string& t) const {
  if (const auto lane = column("lane"); !lane.empty()) return t + "." + lane;
  const auto part = [&](const std::string& ours) {
    const auto own = column(ours);
    if (!own.empty()) return t + "." + own + "::text";
    const auto constant = table_.constants.find(ours);
    return constant == table_.constants.end() ? std::string("''") : db::pg_literal(constant->second);
  };
  return db::pg_lane(part("aggregate_type") + " || ':' || " + part("aggregate_id"), kLanes);
}

std::string sql_micros(const std::string& expression) {
  return "case when isfinite(" + expression + ") then least(extract(epoch from " + expression +
         ") * 1000000, 9223372036854000000)::bigint end";  // the server's last years do not fit
}

Time pg_micros(const db::PgRows& rows, int row, int column) {
  return rows.null(row, column) ? kNever : Time(Duration(rows.integer(row, column)));
}

std::string sql_ahead(const std::string& xid, const std::string& seq, const std::string& p) {
  // Each seq may stand there more than once: the first condition spares most rows the second.
  return "(" + seq + " = any(" + p + ".ahead) and exists (select from unnest(array_positions(" + p + ".ahead, " + seq +
         "::bigint)) i where " + p + ".ahead_xid[i] = " + xid + "))";
}

std::string sql_passed(const std::string& xid, const std::string& seq, const std::string& p) {
  return "(pg_visible_in_snapshot(" + xid + ", " + p + ".s1) or " + sql_ahead(xid, seq, p) + " or (" + p +
         ".s2 is not null and " + seq + " <= " + p + ".last and pg_visible_in_snapshot(" + xid + ", " + p + ".s2)))";
}

std::string sql_short_id(const std::string& id) {
  return "case when octet_length(" + id + ") <= " + kIdMax + " then " + id + " else left(" + id +
         ", 100) || '...' || md5(" + id + ") end";
}

std::string sql_short_ids(const std::string& ids) {
  return "array(select " + sql_short_id("u.id") + " from unnest(" + ids + ") as u (id))";
}

std::string sql_in_the_way(const std::string& d) {
  return "((" + d + ".state = 'waiting' or (" + d + ".state = 'dead' and " + d + ".holds_key)) and not (" + d +
         ".not_due and " + d + ".next_attempt_at > now()))";
}

std::string sql_array(const std::vector<std::string>& values) { return db::pg_array({values.begin(), values.end()}); }

std::string sql_array(const std::vector<std::int64_t>& values) { return array_of_numbers(values); }
std::string sql_array(const std::vector<std::uint64_t>& values) { return array_of_numbers(values); }

std::string storable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto length = sequence_length(text);
    if (result.size() + std::max<std::size_t>(length, 1) > kTextMax) break;
    if (length == 0) {
      result += '?';
      text.remove_prefix(1);
    } else {
      result.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace outbox
