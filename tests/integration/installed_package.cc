#include "integration/installed_package.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/child_process.h"
#include "support/paths.h"

namespace outbox::test {

std::string run(const std::vector<std::string>& command) {
  ChildProcess process(command);
  const auto status = process.wait(std::chrono::seconds(300));
  EXPECT_TRUE(status && status->succeeded()) << command[0] << " " << command[1] << "\n"
                                             << process.standard_output() << process.standard_error();
  return process.standard_output();
}

void install_and_build(const TempDir& folder, const std::vector<std::string>& components, const std::string& examples) {
  const std::string prefix = folder.file("prefix");
  const std::string build = folder.file("build");
  for (const std::string& component : components) {
    run({OUTBOX_CMAKE, "--install", OUTBOX_BUILD_DIR, "--prefix", prefix, "--component", component});
  }
  run({OUTBOX_CMAKE, "-S", (source_dir() / examples).string(), "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
       "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"});
  run({OUTBOX_CMAKE, "--build", build});
}

}  // namespace outbox::test
