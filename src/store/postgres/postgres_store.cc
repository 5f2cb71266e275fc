#include "store/postgres/postgres_store.h"

#include "store/postgres/operations.h"
#include "store/postgres/parked.h"
#include "store/postgres/settle.h"
#include "store/postgres/sink_control.h"
#include "store/postgres/take_over.h"

namespace outbox {

namespace {

class PostgresStore : public Store {
 public:
  PostgresStore(const std::string& url, const TableMapping& table) : session_(url, table) {}

  Result<FeedState> take_over(const Feed& feed, const std::string& relay) override {
    return take_feed_over(session_, feed, relay);
  }
  Result<void> settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) override {
    return settle_batch(session_, feed, epoch, batch);
  }
  Result<std::vector<ParkedRun>> due(const std::string& sink, const Lanes& lanes, std::size_t max_keys,
                                     std::size_t run_max, const std::vector<std::string>& except) override {
    return parked_due(session_, sink, lanes, max_keys, run_max, except);
  }
  Result<Parking> parking(const std::string& sink, const Lanes& lanes) override {
    return parked_summary(session_, sink, lanes);
  }
  Result<PageFacts> page_facts(const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids) override {
    return parked_facts(session_, sink, keys, message_ids);
  }
  Result<void> heartbeat(const Heartbeat& beat) override { return write_heartbeat(session_, beat); }
  Result<StoreStatus> status(const std::vector<Feed>& feeds) override { return read_status(session_, feeds); }
  Result<std::vector<SinkPause>> pauses() override { return read_pauses(session_); }
  Result<std::int64_t> prune(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                             bool dry_run) override {
    return prune_rows(session_, feeds, retention, max_rows, dry_run);
  }

 private:
  PgSession session_;
};

}  // namespace

std::unique_ptr<Store> make_postgres_store(const std::string& url, const TableMapping& table) {
  return std::make_unique<PostgresStore>(url, table);
}

}  // namespace outbox
