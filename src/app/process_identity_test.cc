#include "app/process_identity.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outbox::app {
namespace {

TEST(ProcessIdentity, OneThatRunsIsThere) { EXPECT_FALSE(process_is_gone(process_identity())); }

TEST(ProcessIdentity, ADeadOneIsGoneAlsoWhileItsParentHasNotLooked) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  std::string identity = process_identity();
  identity.resize(identity.rfind('/', identity.rfind('/') - 1));
  identity += "/" + std::to_string(child) + "/1";
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(process_is_gone(identity));
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(process_is_gone(identity));
}

TEST(ProcessIdentity, AnotherWithTheSameNumberIsNotIt) {
  std::string identity = process_identity();
  identity += "0";  // started at another time
  EXPECT_TRUE(process_is_gone(identity));
}

TEST(ProcessIdentity, OfAnotherMachineNothingIsKnown) {
  EXPECT_FALSE(process_is_gone("other-boot/pid:[1]/4242/77"));
  EXPECT_FALSE(process_is_gone(""));
}

TEST(ProcessIdentity, NamesDiffer) { EXPECT_NE(relay_name(), relay_name()); }

}  // namespace
}  // namespace outbox::app
