#include "source/poll/snapshot_sql.h"

#include "db/postgres.h"
#include "source/poll/record_columns.h"

namespace outbox {

namespace {

// Our own table's column is part of the index on seq, so that the rows of other relays are not even read.
std::string within(const TableShape& shape, const Lanes& lanes) {
  if (lanes.all()) return {};
  return " and " + lane_expression(shape) + " between " + std::to_string(lanes.first) + " and " +
         std::to_string(lanes.last);
}

// A merge of two ordered branches that stops after $3 rows: the fresh ones by the index on (seq, xid), and the few of
// each transaction that S1 saw in progress by the one on (xid, seq). Sorting the window, or one lower bound for both
// branches, would read all that was written since an old transaction began, for each page.
std::string merged_sql(const TableShape& shape, const Lanes& lanes, const std::string& fresh_behind,
                       const std::string& late_behind, const std::string& hi) {
  const auto columns = record_columns(shape);
  const auto table = db::pg_qualified(shape.table.table);
  const auto seq = column_of(shape, "seq");
  const auto xid = column_of(shape, "xid");
  const auto share = within(shape, lanes);
  return "select * from ((select " + columns + " from " + table + " t where " + seq + " > " + fresh_behind + " and " +
         seq + " <= " + hi + " and " + xid + " >= pg_snapshot_xmax($1::pg_snapshot) and pg_visible_in_snapshot(" + xid +
         ", $2::pg_snapshot)" + share + " order by " + seq + " limit $3::int) union all (select o.* from" +
         " pg_snapshot_xip($1::pg_snapshot) as x cross join lateral (select " + columns + " from " + table +
         " t where " + xid + " = x and " + seq + " > " + late_behind + " and " + seq + " <= " + hi + share +
         " order by " + seq +
         " limit $3::int) o where pg_visible_in_snapshot(x, $2::pg_snapshot))) w order by m_seq limit $3::int";
}

}  // namespace

std::string page_sql(const TableShape& shape, const Lanes& lanes) {
  return merged_sql(shape, lanes, "greatest($4::bigint, $5::bigint)", "$4::bigint", "$6::bigint");
}

std::string open_sql(const TableShape& shape, const Lanes& lanes) {
  const auto table = db::pg_qualified(shape.table.table);
  const auto seq = column_of(shape, "seq");
  const auto xid = column_of(shape, "xid");
  // count(*) keeps min and max from being planned as walks along the index on seq from its start.
  return "with b as materialized (select min(seq) - 1 as lo, max(seq) as hi, min(seq) filter (where fresh) - 1 as"
         " fresh_lo, count(*) as n from (select " +
         seq + " as seq, true as fresh from " + table + " t where " + xid +
         " >= pg_snapshot_xmax($1::pg_snapshot) and " + xid +
         " < pg_snapshot_xmax($2::pg_snapshot) and pg_visible_in_snapshot(" + xid +
         ", $2::pg_snapshot) union all select " + seq + ", false from pg_snapshot_xip($1::pg_snapshot) as x join " +
         table + " t on " + xid + " = x where pg_visible_in_snapshot(x, $2::pg_snapshot)) r)" +
         " select b.hi, b.fresh_lo, b.lo, p.* from b cross join lateral (" +
         merged_sql(shape, lanes, "greatest(b.lo, coalesce(b.fresh_lo, b.hi), $4::bigint)",
                    "greatest(b.lo, $4::bigint)", "b.hi") +
         ") p order by p.m_seq";
}

}  // namespace outbox
