#include "config/environment.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

namespace outbox::config {
namespace {

Environment fixed(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(Interpolate, ReplacesAndEscapes) {
  const auto environment = fixed({{"A", "one"}, {"B", "${A}"}});
  EXPECT_EQ(*interpolate("x ${A} y", environment), "x one y");
  EXPECT_EQ(*interpolate("${B}", environment), "${A}") << "what was put in is not looked at again";
  EXPECT_EQ(*interpolate("$${A}", environment), "${A}");
  EXPECT_EQ(*interpolate("5 $ and $A", environment), "5 $ and $A");
  EXPECT_EQ(*interpolate("{aggregate_type}", environment), "{aggregate_type}");
}

TEST(Interpolate, NamesWhatIsNotSet) {
  const auto environment = fixed({{"EMPTY", ""}});
  EXPECT_EQ(interpolate("${DB_PASSWORD}", environment).failure().what, "environment variable DB_PASSWORD is not set");
  EXPECT_EQ(*interpolate("${EMPTY}", environment), "");
  EXPECT_FALSE(interpolate("${A", environment));
  EXPECT_FALSE(interpolate("${}", environment));
  EXPECT_FALSE(interpolate("${A-default}", environment));
}

class SecretFile : public testing::Test {
 protected:
  void write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  void TearDown() override { std::remove(path_.c_str()); }
  Result<std::string> read() { return interpolate("${KEY_FILE}", fixed({{"KEY_FILE", path_}})); }

  std::string path_ = (std::filesystem::temp_directory_path() / ("outbox_secret_" + std::to_string(getpid()))).string();
};

TEST_F(SecretFile, LosesOneLineBreak) {
  write("s3cret\n");
  EXPECT_EQ(*read(), "s3cret");
  write("s3cret\n\n");
  EXPECT_EQ(*read(), "s3cret\n");
  write("s3cret\r\n");
  EXPECT_EQ(*read(), "s3cret");
  write("");
  EXPECT_EQ(*read(), "");
}

TEST_F(SecretFile, MissingOrTooLargeIsAnErrorThatNamesIt) {
  EXPECT_NE(read().failure().what.find(path_ + ": No such file"), std::string::npos);
  write(std::string(100'000, 'x'));
  const std::string what = read().failure().what;
  EXPECT_NE(what.find("larger than"), std::string::npos);
  EXPECT_EQ(what.find("xxxx"), std::string::npos);
}

}  // namespace
}  // namespace outbox::config
