#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "support/child_process.h"
#include "support/eventually.h"
#include "support/services.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

TEST(ChildProcess, KeepsOutputAndStatus) {
  ChildProcess child({"sh", "-c", "cat; echo $GREETING; pwd; echo no >&2; exit 3"},
                     {.environment = {{"GREETING", "hello"}}, .directory = "/", .input = "in\n"});
  const auto status = child.wait(10s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 3);
  EXPECT_FALSE(status->succeeded());
  EXPECT_EQ(child.standard_output(), "in\nhello\n/\n");
  EXPECT_EQ(child.standard_error(), "no\n");
  EXPECT_EQ(child.wait(0ms)->code, 3);
}

TEST(ChildProcess, IsKilledAtOnce) {
  ChildProcess child({"sleep", "1000"});
  EXPECT_TRUE(child.running());
  child.kill_and_wait();
  EXPECT_FALSE(child.running());
  EXPECT_EQ(child.wait(0ms)->signal, SIGKILL);
  EXPECT_EQ(::kill(child.pid(), 0), -1);
}

TEST(ChildProcess, MayEndItselfOnTerminate) {
  ChildProcess child({"sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(eventually(10s, [&] { return child.standard_output() == "ready\n"; }));
  child.terminate();
  const auto status = child.wait(10s);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->succeeded());
  EXPECT_EQ(child.standard_output(), "ready\nbye\n");
}

TEST(ChildProcess, ThatIsNotThereThrows) { EXPECT_THROW(ChildProcess({"/nonexistent/program"}), std::system_error); }

TEST(Eventually, StopsAtSuccessAndAtTheDeadline) {
  int calls = 0;
  EXPECT_TRUE(eventually(10s, [&] { return ++calls == 3; }));
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(eventually(0ms, [] { return false; }));
}

TEST(TempDir, GoesAwayWithItsContent) {
  std::filesystem::path path;
  {
    TempDir folder;
    path = folder.path();
    write_file(folder.file("a"), std::string("x\0y\n", 4));
    EXPECT_EQ(read_file(folder.file("a")), std::string("x\0y\n", 4));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Services, HaveAVariableEach) {
  EXPECT_EQ(environment_variable(Service::postgresql_newest), "OUTBOX_POSTGRESQL_NEWEST");
}

}  // namespace
}  // namespace outbox::test
