#include "page_reader.h"

#include <libpq-fe.h>
#include <malloc.h>

#include <stdexcept>

#include "outbox_database.h"

namespace outbox::bench {

namespace {

constexpr int kPage = 1000;
constexpr const char* kSql =
    "select seq, id::text, aggregatetype, aggregateid, type, payload::text, headers::text, created_at from outbox"
    " where seq > $1::bigint order by seq limit 1000";

std::int64_t number(const PGresult* row, int column) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(row, 0, column));
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return static_cast<std::int64_t>(value);
}

std::string_view text(const PGresult* row, int column) {
  return {PQgetvalue(row, 0, column), static_cast<std::size_t>(PQgetlength(row, 0, column))};
}

}  // namespace

std::int64_t read_pages(const std::string& url, const std::function<void(const Row&)>& each,
                        const std::function<void()>& page_done) {
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // as the daemon does
  Session session(url);
  session.run("set enable_seqscan = off");
  PQclear(PQprepare(session.handle(), "page", kSql, 0, nullptr));
  std::int64_t total = 0, last = 0;
  for (int rows = kPage; rows == kPage; total += rows) {
    const std::string from = std::to_string(last);
    const char* values[] = {from.c_str()};
    if (PQsendQueryPrepared(session.handle(), "page", 1, values, nullptr, nullptr, 1) != 1 ||
        PQsetSingleRowMode(session.handle()) != 1) {
      throw std::runtime_error(PQerrorMessage(session.handle()));
    }
    rows = 0;
    while (PGresult* row = PQgetResult(session.handle())) {
      const auto status = PQresultStatus(row);
      if (status == PGRES_SINGLE_TUPLE) {
        ++rows;
        last = number(row, 0);
        each({text(row, 1), text(row, 2), text(row, 3), text(row, 4), text(row, 5), text(row, 6), number(row, 7)});
      }
      PQclear(row);
      if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(session.handle()));
      }
    }
    page_done();
  }
  return total;
}

}  // namespace outbox::bench
