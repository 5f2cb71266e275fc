// Two sinks on one table that is marked: they share the reading, so one that is down or paused must not hold the other.
// More rows than the relay keeps in memory.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRows = 12'000;
constexpr int kKeys = 200;

class SharedTable : public DaemonTest {
 protected:
  void configure_table(const HttpStub& partner, const std::string& more = {}) {
    database_->execute(
        "create table events_out (id uuid primary key default gen_random_uuid(), aggregate_type text, aggregate_id"
        " text, type text, payload json, created_at timestamptz default clock_timestamp(), published_at timestamptz)");
    configure(http_sink("partner", partner, more) + "  audit: { type: file, path: audit.jsonl }\n",
              "  - { sink: partner }\n  - { sink: audit }\n",
              "outbox:\n  table: events_out\n  columns: { aggregate_type: aggregate_type, aggregate_id: aggregate_id,"
              " order: created_at }\n  sent: mark\nbreaker: { open: 100ms, cap: 500ms }\n");
  }

  void fill() {
    database_->execute("insert into events_out (aggregate_type, aggregate_id, type, payload) select 'order', (i % " +
                       std::to_string(kKeys) + ")::text, 'T', to_json(i) from generate_series(1, " +
                       std::to_string(kRows) + ") as i");
  }

  std::size_t audited() {
    const auto file = daemon_.file("audit.jsonl");
    if (!std::filesystem::exists(file)) return 0;  // not opened yet
    const std::string lines = read_file(file);
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  // Every row once, each key in order.
  void expect_all(const std::vector<StubRequest>& accepted) {
    std::map<int, int> last;
    std::set<int> rows;
    for (const StubRequest& request : accepted) {
      const int row = std::stoi(request.body);
      EXPECT_TRUE(rows.insert(row).second) << row << " came twice";
      EXPECT_GT(row, last[row % kKeys]);
      last[row % kKeys] = row;
    }
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(kRows));
  }

  std::string waiting() { return count("waiting"); }
  std::string unmarked() { return database_->value("select count(*) from events_out where published_at is null"); }
};

TEST_F(SharedTable, ASinkThatIsDownSpillsAndTheOtherGoesOn) {
  std::atomic<bool> ill = true;
  std::vector<StubRequest> accepted;  // the script runs one call at a time
  HttpStub partner([&](const StubRequest& request) {
    if (ill) return StubReply{503};
    accepted.push_back(request);
    return StubReply{};
  });
  configure_table(partner);
  fill();
  auto relay = daemon_.start();
  ASSERT_TRUE(eventually(120s, [&] { return audited() == kRows; })) << relay->standard_error();
  const int spilled = std::stoi(waiting());
  EXPECT_GT(spilled, kRows / 2);
  EXPECT_EQ(attempts_used(), "0");

  EXPECT_LT(partner.request_count(), 1000u);
  ill = false;
  ASSERT_TRUE(eventually(120s, [&] { return waiting() == "0" && unmarked() == "0"; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  expect_all(accepted);
  EXPECT_EQ(count("dead"), "0");
}

TEST_F(SharedTable, APausedSinkSpillsToo) {
  HttpStub partner;
  configure_table(partner);
  ASSERT_EQ(daemon_.run({"pause", "partner", "--reason", "their maintenance", "--actor", "ana"}).code, 0);
  fill();
  auto relay = daemon_.start();
  ASSERT_TRUE(eventually(120s, [&] { return audited() == kRows; })) << relay->standard_error();
  EXPECT_EQ(partner.request_count(), 0u);
  EXPECT_GT(std::stoi(waiting()), kRows / 2);

  ASSERT_EQ(daemon_.run({"resume", "partner"}).code, 0);
  ASSERT_TRUE(eventually(120s, [&] { return waiting() == "0" && unmarked() == "0"; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  expect_all(partner.requests());
}

TEST_F(SharedTable, AtTheCapReadingStopsAndTheAlarmIsRaised) {
  HttpStub partner([](const StubRequest&) { return StubReply{503}; });
  configure_table(partner, ", parked_max: 1000");
  fill();
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  const auto at_cap = [&] { return sample(get(port, "/metrics").body, "outbox_at_cap{sink=\"partner\"}"); };
  ASSERT_TRUE(eventually(60s, [&] { return at_cap() == "1"; })) << relay->standard_error();
  EXPECT_NE(relay->standard_error().find("parked deliveries are at their cap"), std::string::npos);
  EXPECT_NE(get(port, "/readyz").body.find("cap"), std::string::npos) << get(port, "/readyz").body;
  EXPECT_LT(audited(), static_cast<std::size_t>(kRows));
  EXPECT_LT(std::stoi(waiting()), 7000);

  partner.set_script([](const StubRequest&) { return StubReply{}; });
  ASSERT_TRUE(eventually(120s, [&] { return waiting() == "0" && unmarked() == "0"; })) << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return at_cap() == "0"; }));
  EXPECT_EQ(audited(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

}  // namespace
}  // namespace outbox::test
