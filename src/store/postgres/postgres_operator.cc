#include "store/postgres/postgres_operator.h"

#include "store/postgres/dead_letters.h"
#include "store/postgres/delivery_lists.h"
#include "store/postgres/operator_rows.h"
#include "store/postgres/sink_control.h"

namespace outbox {

namespace {

class PostgresOperator final : public OperatorStore {
 public:
  PostgresOperator(const std::string& url, const TableMapping& table) : session_(url, table) {}

  Result<Time> now() override {
    auto opened = session_.connection();
    if (!opened) return opened.failure();
    auto rows = (*opened)->run("select " + sql_micros("clock_timestamp()"));
    if (!rows) return rows.failure();
    return pg_micros(*rows, 0, 0);
  }

  Result<std::vector<DeliveryInfo>> list(ListedState state, const DeliveryFilter& filter,
                                         const std::vector<RouteFilter>& routes, std::size_t limit) override {
    return list_deliveries(session_, state, filter, routes, limit);
  }
  Result<std::vector<DeliveryInfo>> find(const std::vector<std::string>& message_ids,
                                         const std::string& sink) override {
    return find_parked(session_, message_ids, sink);
  }
  Result<MessageLife> life(const std::string& message_id, const std::vector<RouteFilter>& routes) override {
    return read_life(session_, message_id, routes);
  }
  Result<RecordPtr> parked_record(std::int64_t row) override { return read_parked_record(session_, row); }

  Result<DeadLetterWalk> begin_walk(const DeliveryFilter& filter) override {
    auto at = now();
    if (!at) return at.failure();
    DeadLetterWalk walk;
    walk.filter = filter;
    walk.until = *at;
    return walk;
  }
  Result<WalkStep> count(const DeadLetterWalk& walk, int replays_max) override {
    return count_dead(session_, walk, replays_max);
  }
  Result<WalkStep> requeue(DeadLetterWalk& walk, int replays_max, std::size_t max_rows, const Act& act) override {
    return requeue_dead(session_, walk, replays_max, {max_rows, act});
  }
  Result<WalkStep> discard(DeadLetterWalk& walk, std::size_t max_rows, const Act& act) override {
    return discard_dead(session_, walk, {max_rows, act});
  }
  Result<bool> replace(std::int64_t row, const std::string& new_id, const std::string& payload, int replays_max,
                       const Act& act) override {
    return replace_dead(session_, row, new_id, payload, replays_max, act);
  }

  Result<bool> pause(const std::string& sink, const Act& act) override { return pause_sink(session_, sink, act); }
  Result<bool> resume(const std::string& sink, const Act& act) override { return resume_sink(session_, sink, act); }
  Result<SinkHoldings> holdings(const std::string& sink) override { return sink_holdings(session_, sink); }
  Result<bool> forget(const std::string& sink, std::size_t max_rows, const Act& act) override {
    return forget_sink(session_, sink, max_rows, act);
  }

 private:
  PgSession session_;
};

}  // namespace

std::unique_ptr<OperatorStore> make_postgres_operator(const std::string& url, const TableMapping& table) {
  return std::make_unique<PostgresOperator>(url, table);
}

}  // namespace outbox
