#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/uuid.h"
#include "outbox/message.h"

namespace outbox {
namespace {

std::int64_t milliseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

TEST(MessageId, IsAVersion7UuidOfThisMoment) {
  const std::int64_t before = milliseconds_now();
  const std::string id = make_message_id();
  const auto uuid = client::parse_uuid(id);
  ASSERT_TRUE(uuid.has_value()) << id;
  EXPECT_EQ((*uuid)[6] >> 4, 7);
  EXPECT_EQ((*uuid)[8] >> 6, 2);
  EXPECT_EQ(client::uuid_text(*uuid), id);
  std::int64_t made = 0;
  for (std::size_t i = 0; i < 6; ++i) made = made << 8 | (*uuid)[i];
  EXPECT_GE(made, before);
  EXPECT_LE(made, milliseconds_now() + 1000);  // ids made in a burst run ahead of the clock a little
}

TEST(MessageId, AscendsWithinAThreadAndIsUniqueOverAll) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 5000;
  std::vector<std::vector<std::string>> made(kThreads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (auto& ids : made) {
      threads.emplace_back([&ids] {
        for (std::size_t i = 0; i < kEach; ++i) ids.push_back(make_message_id());
      });
    }
  }
  std::set<std::string> times;  // without the random bits
  for (const auto& ids : made) {
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    for (const auto& id : ids) times.insert(id.substr(0, 18));
  }
  EXPECT_EQ(times.size(), kThreads * kEach);
}

TEST(Uuid, TakesOnlyTheUsualForm) {
  EXPECT_TRUE(client::parse_uuid("0190B8F0-0000-7000-8000-00000000abCD").has_value());
  EXPECT_EQ(client::uuid_text(*client::parse_uuid("0190B8F0-0000-7000-8000-00000000abCD")),
            "0190b8f0-0000-7000-8000-00000000abcd");
  for (const char* text : {"", "m-1", "0190b8f000007000800000000000abcd", "{190b8f0-0000-7000-8000-00000000abc}",
                           "0190b8f0-0000-7000-8000-00000000abcg", "0190b8f0-0000-7000-8000-00000000abcd ",
                           "0190b8f0_0000_7000_8000_00000000abcd", "0190b8f0-0000-7000-8000-00000000abc"}) {
    EXPECT_FALSE(client::parse_uuid(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace outbox
