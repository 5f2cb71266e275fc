#include "app/demo_shop.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <random>

#include "outbox/sqlite.h"
#include "store/sqlite/schema.h"

namespace outbox::app {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS orders (
  id    INTEGER PRIMARY KEY,
  n     INTEGER NOT NULL,  -- messages so far
  cents INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS ledger (
  id  TEXT PRIMARY KEY,
  key TEXT NOT NULL,
  n   INTEGER NOT NULL
);
)sql";

Failure failure_of(const Error& error) { return {FailureKind::local, std::string("demo shop: ") + error.what()}; }

}  // namespace

// One connection, one transaction per order. Used by one thread at a time.
class DemoShop::Till {
 public:
  Till(db::Sqlite file, const ShopOptions& options) : file_(std::move(file)), options_(options), dice_(options.seed) {}

  // True: committed; false: rolled back.
  Result<bool> take_order() {
    const auto order = number(1, options_.orders);
    const auto cents = number(100, 99'999);
    const bool refused = number(1, 100) <= options_.refused_percent;
    const bool changes_mind = number(1, 100) <= options_.rollback_percent;

    auto transaction = db::SqliteTransaction::begin(file_);
    if (!transaction) return transaction.failure();
    auto n = file_.integer(
        "INSERT INTO orders (id, n, cents) VALUES (?1, 1, ?2) ON CONFLICT (id) DO UPDATE SET n = n + 1, cents = ?2 "
        "RETURNING n",
        {order, cents});
    if (!n) return n.failure();
    auto id = enqueue_invoice(order, **n, cents, refused);
    if (!id) return id.failure();
    auto noted = file_.run("INSERT INTO ledger (id, key, n) VALUES (?, 'order:' || ?, ?)", {*id, order, **n});
    if (!noted) return noted.failure();
    if (changes_mind) return false;
    auto committed = transaction->commit();
    if (!committed) return committed.failure();
    return true;
  }

 private:
  Result<std::string> enqueue_invoice(std::int64_t order, std::int64_t n, std::int64_t cents, bool refused) {
    Message message;
    message.aggregate_type = "order";
    message.aggregate_id = std::to_string(order);
    message.aggregate_version = n;
    message.type = "OrderConfirmed";
    message.payload = fmt::format(R"({{"order":{},"n":{},"total":"{}.{:02}","currency":"EUR","vat_id":"{}"}})", order,
                                  n, cents / 100, cents % 100, refused ? "" : fmt::format("DE{:09}", order));
    try {
      return enqueue(file_.handle(), message).id;
    } catch (const Error& error) {
      return failure_of(error);
    }
  }

  std::int64_t number(std::int64_t least, std::int64_t most) {
    // Not std::uniform_int_distribution, which differs between libraries; the slight bias does not matter.
    return least + static_cast<std::int64_t>(dice_() % static_cast<std::uint64_t>(most - least + 1));
  }

  db::Sqlite file_;
  ShopOptions options_;
  std::mt19937_64 dice_;
};

Result<std::unique_ptr<DemoShop>> DemoShop::make(const ShopOptions& options) {
  const std::string file = (options.folder / "shop.db").string();
  auto made = init_sqlite(file, {});
  if (!made) return made.failure();
  auto connection = db::Sqlite::open(file, db::Sqlite::Mode::write);
  if (!connection) return connection.failure();
  auto tables = connection->script(kTables);
  if (!tables) return tables.failure();
  std::unique_ptr<DemoShop> shop(new DemoShop(options, file));
  shop->till_ = std::make_unique<Till>(std::move(*connection), options);
  return shop;
}

DemoShop::DemoShop(ShopOptions options, std::string file) : options_(std::move(options)), file_(std::move(file)) {}

DemoShop::~DemoShop() = default;

void DemoShop::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Result<void> DemoShop::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return ended_;
}

void DemoShop::work(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any pause;
  while (!stop.stop_requested()) {
    ended_ = take_orders(1);
    if (!ended_) return;
    std::unique_lock lock(mutex);
    pause.wait_for(lock, stop, options_.pause, [] { return false; });
  }
}

Result<void> DemoShop::take_orders(int count) {
  for (int i = 0; i < count; ++i) {
    auto committed = till_->take_order();
    if (!committed) return committed.failure();
    ++(*committed ? committed_ : rolled_back_);
  }
  return {};
}

Result<std::vector<LedgerRow>> DemoShop::ledger() const {
  auto file = db::Sqlite::open(file_, db::Sqlite::Mode::read);
  if (!file) return file.failure();
  std::vector<LedgerRow> ledger;
  auto rows = file->query("SELECT id, key, n FROM ledger");
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return ledger;
    ledger.push_back({std::string(rows->text(0)), std::string(rows->text(1)), rows->integer(2)});
  }
}

}  // namespace outbox::app
