#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include "base/log.h"
#include "config/database_url.h"
#include "db/sqlite_table.h"
#include "store/sqlite/history.h"
#include "store/sqlite/operations.h"
#include "store/sqlite/parked.h"
#include "store/sqlite/places.h"
#include "store/sqlite/schema.h"

namespace outbox {
namespace {

using db::Sqlite;
using db::SqliteTransaction;

// One retention delete keeps the application's other writers waiting for some milliseconds at most.
constexpr std::int64_t kPruneRows = 500;

Result<void> check_feed(const Feed& feed) {
  if (feed.positions && feed.sinks.size() == 1 && feed.name == feed.sinks.front()) return {};
  return Failure{
      FailureKind::invalid,
      "sqlite: outbox.sent: mark and delete would write into the application's file for every message, which "
      "fails its own transactions; use sent: keep (the default)"};
}

// A sink that begins now, because it is new or because FILE-outboxd was lost.
Result<void> say_passed_over(Sqlite& application, const db::SqliteTable& table, const std::string& sink) {
  auto rows = application.integer(fmt::format("SELECT count(*) FROM {}", table.name));
  if (!rows) return rows.failure();
  if (rows->value_or(0) == 0) return {};
  log::warn("a sink without a stored position begins now: the rows that are there are passed over",
            {{"sink", sink},
             {"passed_over", std::to_string(**rows)},
             {"hint", "to have them sent, start it under a new name with from: beginning, and forget this one"}});
  return {};
}

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& url, TableMapping mapping, std::shared_ptr<db::LastRead> last_read)
      : file_(config::sqlite_file(url)),
        mapping_(std::move(mapping)),
        last_read_(last_read ? std::move(last_read) : std::make_shared<db::LastRead>()) {}

  Result<FeedState> take_over(const Feed& feed, const std::string& relay) override;
  Result<void> settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) override;
  Result<std::vector<ParkedRun>> due(const std::string& sink, const Lanes&, std::size_t max_keys, std::size_t run_max,
                                     const std::vector<std::string>& except) override;
  Result<Parking> parking(const std::string& sink, const Lanes&) override;
  Result<PageFacts> page_facts(const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids) override;
  Result<void> heartbeat(const Heartbeat& beat) override;
  Result<StoreStatus> status(const std::vector<Feed>& feeds) override;
  Result<std::vector<SinkPause>> pauses() override;
  Result<std::int64_t> prune(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                             bool dry_run) override;

 private:
  Result<void> open_state();
  Result<void> open_application();
  Result<FeedState> take_over_now(const Feed& feed, const std::string& relay);
  Result<void> settle_now(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch);
  Result<std::vector<ParkedRun>> due_now(const std::string& sink, std::size_t max_keys, std::size_t run_max,
                                         const std::vector<std::string>& except);
  Result<std::int64_t> prune_now(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                                 bool dry_run);
  Result<std::optional<std::string>> passed_message(const Feed& feed, const Position& position);
  Result<void> wait_for_disk(bool wait);
  SqliteFiles files() { return {*state_, *application_, table_, mapping_.prefix}; }
  ParkedTable parked() { return {*state_, mapping_.prefix}; }

  // A connection that failed is given up; the next call opens anew.
  template <class T>
  Result<T> checked(Result<T> result) {
    if (!result && result.failure().kind != FailureKind::fenced) {
      state_.reset();
      application_.reset();
    }
    return result;
  }

  std::string file_;
  TableMapping mapping_;
  std::shared_ptr<db::LastRead> last_read_;
  std::optional<Sqlite> state_;
  std::optional<Sqlite> application_;
  db::SqliteTable table_;
  std::optional<Sqlite::Identity> taken_;  // the application's file as it was at take_over
  bool replaced_ = false;                  // and it is no longer that
  bool waits_for_disk_ = true;             // PRAGMA synchronous=FULL, as a connection starts
};

Result<void> SqliteStore::open_state() {
  if (state_ && !state_->replaced()) return {};
  state_.reset();
  auto opened = open_sqlite_state(file_, mapping_.prefix);
  if (!opened) return opened.failure();
  state_.emplace(std::move(*opened));
  waits_for_disk_ = true;
  return {};
}

Result<void> SqliteStore::open_application() {
  if (application_) return {};
  auto opened = db::open_application(file_, Sqlite::Mode::read);
  if (!opened) return opened.failure();
  auto table = db::inspect_table(*opened, mapping_.table, mapping_.columns, mapping_.constants);
  if (!table) return table.failure();
  table_ = std::move(*table);
  application_.emplace(std::move(*opened));
  return {};
}

// A position that is lost in a power failure costs duplicates; a parked delivery would be lost. Later commits never
// survive earlier ones.
Result<void> SqliteStore::wait_for_disk(bool wait) {
  if (wait == waits_for_disk_) return {};
  auto set = state_->script(wait ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  if (!set) return set;
  waits_for_disk_ = wait;
  return {};
}

Result<FeedState> SqliteStore::take_over(const Feed& feed, const std::string& relay) {
  return checked(take_over_now(feed, relay));
}

Result<FeedState> SqliteStore::take_over_now(const Feed& feed, const std::string& relay) {
  if (auto fits = check_feed(feed); !fits) return fits.failure();
  application_.reset();  // the file may have been replaced
  if (auto opened = open_application(); !opened) return opened.failure();
  if (auto opened = open_state(); !opened) return opened.failure();
  if (auto set = wait_for_disk(true); !set) return set.failure();
  const Time now = db::sqlite_now();

  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  Places places(*state_, mapping_.prefix);
  History history(*state_, mapping_.prefix);
  auto found = places.find(feed.name);
  if (!found) return found.failure();
  Place place = found->value_or(Place{});
  if (!*found && !feed.from_beginning) {
    auto last = db::last_seq(*application_, table_);
    if (!last) return last.failure();
    auto newest = db::message_at(*application_, table_, *last);
    if (!newest) return newest.failure();
    place.position.seq = *last;
    place.message_id = std::move(*newest);
    if (auto noted = places.note_start(feed.name, *last); !noted) return noted.failure();
    if (auto said = say_passed_over(*application_, table_, feed.name); !said) return said.failure();
  }
  auto resumed = history.resume(*application_, table_, feed.name, place.position.seq, place.message_id);
  if (!resumed) return resumed.failure();
  if (*resumed != place.position.seq) {
    log::warn("the application's file was restored or replaced; resuming where both agree",
              {{"sink", feed.name},
               {"position", std::to_string(place.position.seq)},
               {"resumed_at", std::to_string(*resumed)}});
    place.position = Position{{}, {}, *resumed, {}};
    if (auto forgotten = places.forget_start(feed.name); !forgotten) return forgotten.failure();
    auto id = db::message_at(*application_, table_, *resumed);
    if (!id) return id.failure();
    place.message_id = std::move(*id);
  }
  ++place.epoch;
  if (auto taken = places.take(feed.name, relay, place, now); !taken) return taken.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  taken_ = application_->identity();
  replaced_ = false;
  last_read_->set({place.position.seq, place.message_id});
  return FeedState{place.position, place.epoch, now};
}

Result<void> SqliteStore::settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) {
  auto done = checked(settle_now(feed, epoch, batch));
  // `unavailable` makes the caller take over again, which only a replaced file needs: a busy one has taken nothing, and
  // the batch is simply repeated.
  if (!done && done.failure().kind == FailureKind::unavailable && !replaced_) {
    return Failure{FailureKind::local, done.failure().what};
  }
  return done;
}

// The id of the message at the position. Read before the file is judged: an id of a file that was restored meanwhile is
// then found out.
Result<std::optional<std::string>> SqliteStore::passed_message(const Feed& feed, const Position& position) {
  if (auto opened = open_application(); !opened) return opened.failure();
  auto id = db::message_at(*application_, table_, position.seq);
  if (!id) return id.failure();
  auto stands = db::stands(*application_, table_, last_read_->get());
  if (!stands) return stands.failure();
  replaced_ = !*stands || (taken_ && application_->identity() != *taken_);
  if (!replaced_) return id;
  return Failure{FailureKind::unavailable, fmt::format("sqlite {}: the file was restored or replaced while {} was fed "
                                                       "from it; it is taken over anew",
                                                       file_, feed.name)};
}

Result<void> SqliteStore::settle_now(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) {
  if (auto fits = check_feed(feed); !fits) return fits;
  OUTBOX_ASSERT(batch.settled.empty());
  if (auto opened = open_state(); !opened) return opened;
  const Failure fenced{FailureKind::fenced,
                       fmt::format("sqlite {}: another relay has taken {} over", state_->file(), feed.name)};
  std::optional<std::string> message_id;
  if (batch.position) {
    auto id = passed_message(feed, *batch.position);
    if (!id) return id.failure();
    message_id = std::move(*id);
  }
  if (auto set = wait_for_disk(!batch.parks.empty() || !batch.updates.empty()); !set) return set;

  const Time now = db::sqlite_now();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  Places places(*state_, mapping_.prefix);
  auto owned =
      batch.position ? places.move(feed.name, epoch, *batch.position, message_id, now) : places.owns(feed.name, epoch);
  if (!owned) return owned.failure();
  if (!*owned) return fenced;
  if (auto written = parked().write(feed.name, batch.parks, batch.updates, now); !written) return written;
  if (batch.position && message_id) {
    History history(*state_, mapping_.prefix);
    if (auto noted = history.note(feed.name, batch.position->seq, *message_id, now); !noted) return noted;
  }
  if (auto committed = transaction->commit(); !committed) return committed;
  if (batch.position) last_read_->advance({batch.position->seq, message_id});
  return {};
}

Result<std::vector<ParkedRun>> SqliteStore::due(const std::string& sink, const Lanes&, std::size_t max_keys,
                                                std::size_t run_max, const std::vector<std::string>& except) {
  return checked(due_now(sink, max_keys, run_max, except));
}

Result<std::vector<ParkedRun>> SqliteStore::due_now(const std::string& sink, std::size_t max_keys, std::size_t run_max,
                                                    const std::vector<std::string>& except) {
  if (auto opened = open_state(); !opened) return opened.failure();
  const Time now = db::sqlite_now();
  if (auto released = parked().release_due(sink, now); !released) return released.failure();
  return parked().due(sink, max_keys, run_max, except, now);
}

Result<Store::Parking> SqliteStore::parking(const std::string& sink, const Lanes&) {
  if (auto opened = open_state(); !opened) return checked<Parking>(opened.failure());
  return checked(parked().parking(sink, db::sqlite_now()));
}

Result<PageFacts> SqliteStore::page_facts(const std::string& sink, const std::vector<std::string>& keys,
                                          const std::vector<std::string>& message_ids) {
  if (auto opened = open_state(); !opened) return checked<PageFacts>(opened.failure());
  return checked(parked().facts(sink, keys, message_ids, db::sqlite_now()));
}

Result<void> SqliteStore::heartbeat(const Heartbeat& beat) {
  if (auto opened = open_state(); !opened) return checked(std::move(opened));
  return checked(write_heartbeat(*state_, mapping_.prefix, beat, db::sqlite_now()));
}

Result<StoreStatus> SqliteStore::status(const std::vector<Feed>& feeds) {
  if (auto opened = open_state(); !opened) return checked<StoreStatus>(opened.failure());
  if (auto opened = open_application(); !opened) return checked<StoreStatus>(opened.failure());
  return checked(read_status(files(), feeds, db::sqlite_now()));
}

Result<std::vector<SinkPause>> SqliteStore::pauses() {
  if (auto opened = open_state(); !opened) return checked<std::vector<SinkPause>>(opened.failure());
  return checked(read_pauses(*state_, mapping_.prefix));
}

Result<std::int64_t> SqliteStore::prune(const std::vector<Feed>& feeds, const Retention& retention,
                                        std::int64_t max_rows, bool dry_run) {
  return checked(prune_now(feeds, retention, max_rows, dry_run));
}

Result<std::int64_t> SqliteStore::prune_now(const std::vector<Feed>& feeds, const Retention& retention,
                                            std::int64_t max_rows, bool dry_run) {
  if (auto opened = open_state(); !opened) return opened.failure();
  if (auto opened = open_application(); !opened) return opened.failure();
  const Time now = db::sqlite_now();
  auto gone = prune_parked(files(), feeds, retention, max_rows, dry_run, now);
  if (!gone || !retention.sent || *gone >= max_rows) return gone;

  auto writer = db::open_application(application_->file(), dry_run ? Sqlite::Mode::read : Sqlite::Mode::write, 1s);
  if (!writer) return writer.failure();
  const std::int64_t rows = dry_run ? max_rows - *gone : std::min(max_rows - *gone, kPruneRows);
  auto sent = prune_sent({*state_, *writer, table_, mapping_.prefix}, feeds, *retention.sent, rows, dry_run, now);
  if (!sent) return sent.failure();
  return *gone + *sent;
}

}  // namespace

std::unique_ptr<Store> make_sqlite_store(const std::string& url, const TableMapping& mapping,
                                         std::shared_ptr<db::LastRead> last_read) {
  return std::make_unique<SqliteStore>(url, mapping, std::move(last_read));
}

}  // namespace outbox
