// What `outboxd status` says of the lanes that relays share.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class Shares : public DaemonTest {
 protected:
  json shares() { return json::parse(daemon_.run({"status", "--json"}).out)["shares"]; }
  // How many relays have a part of it, and whether somebody has each lane.
  static std::pair<std::size_t, bool> owners(const json& shares) {
    std::set<std::string> relays;
    int lanes = 0;
    for (const auto& share : shares) {
      if (share["relay"].is_null()) continue;
      relays.insert(share["relay"].get<std::string>());
      lanes += share["lane_to"].get<int>() - share["lane"].get<int>() + 1;
    }
    return {relays.size(), lanes == 64};
  }

  HttpStub stub_;
};

TEST_F(Shares, StatusSaysWhoHasWhichLanes) {
  configure(http_sink("events", stub_), "  - { sink: events }\n");
  auto one = daemon_.start();
  ASSERT_TRUE(eventually(30s, [&] { return owners(shares()) == std::pair(std::size_t{1}, true); }));
  auto other = daemon_.start();
  ASSERT_TRUE(eventually(30s, [&] { return owners(shares()) == std::pair(std::size_t{2}, true); }));
  for (const auto& share : shares()) {
    EXPECT_EQ(share["feed"], "events");
    EXPECT_TRUE(share["lease_until"].is_string()) << share;
  }
  const std::string text = daemon_.run({"status"}).out;
  EXPECT_NE(text.find("LANES"), std::string::npos) << text;
  EXPECT_NE(text.find("0-31"), std::string::npos) << text;
  EXPECT_NE(text.find("32-63"), std::string::npos) << text;

  EXPECT_EQ(stop(*one), 0) << one->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return owners(shares()) == std::pair(std::size_t{1}, true); }));
  EXPECT_EQ(stop(*other), 0) << other->standard_error();
  EXPECT_EQ(owners(shares()).first, 0u);
}

}  // namespace
}  // namespace outbox::test
