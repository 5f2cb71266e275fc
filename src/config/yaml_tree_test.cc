#include "config/yaml_tree.h"

#include <gtest/gtest.h>

namespace outbox::config {
namespace {

std::string complaints(const std::string& text) {
  Problems problems("f");
  parse_yaml(text, problems);
  std::string all;
  for (const Problem& problem : problems.sorted()) all += problem.text() + "\n";
  return all;
}

TEST(Yaml, KeepsLinesAndTypesNothing) {
  Problems problems("f");
  const YamlNode root = parse_yaml("a: no\nb:\n  c: [1, '2']\nd: ~\n", problems);
  ASSERT_FALSE(problems.has_errors());
  EXPECT_EQ(root.find("a")->scalar, "no");
  EXPECT_EQ(root.find("b")->find("c")->line, 3);
  EXPECT_EQ(root.find("b")->find("c")->items[1].scalar, "2");
  EXPECT_EQ(root.find("d")->kind, YamlNode::Kind::null);
}

TEST(Yaml, DuplicateKeysAreErrorsAtBothLevels) {
  EXPECT_EQ(complaints("a: 1\nb: {x: 1, x: 2}\na: 2\n"),
            "f:2: x: given twice, first in line 2; remove one\nf:3: a: given twice, first in line 1; remove one\n");
}

TEST(Yaml, AliasesWork) {
  Problems problems("f");
  const YamlNode root = parse_yaml("a: &t {connect: 2s}\nb: *t\n", problems);
  EXPECT_FALSE(problems.has_errors());
  EXPECT_EQ(root.find("b")->find("connect")->scalar, "2s");
}

TEST(Yaml, ExpansionIsBounded) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "*a" : ",*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_NE(complaints(text).find("more than 50000 values"), std::string::npos);
}

TEST(Yaml, NestingIsBounded) {
  EXPECT_NE(complaints("a: " + std::string(100'000, '[')).find("nested deeper than 32"), std::string::npos);
  EXPECT_NE(complaints("a: " + std::string(20'000, '{')).find("f:1: "), std::string::npos);
}

TEST(Yaml, SizeIsBounded) {
  EXPECT_NE(complaints(std::string(kFileBytesMax + 1, '#')).find("larger than"), std::string::npos);
  EXPECT_NE(complaints(std::string("a: b\0c", 6)).find("NUL"), std::string::npos);
}

TEST(Yaml, SaysTabsAndSyntaxWithTheLine) {
  EXPECT_EQ(complaints("a:\n\tb: 1\n"), "f:2: indented with a tab; YAML wants spaces\n");
  EXPECT_EQ(complaints("a: {b: 1\nc: 2\n").substr(0, 2), "f:");
  EXPECT_NE(complaints("a: [1\n").find("not YAML"), std::string::npos);
  EXPECT_NE(complaints("a: *nowhere\n").find("f:1: not YAML"), std::string::npos);
}

TEST(Yaml, OneDocument) {
  EXPECT_EQ(complaints("---\na: 1\n"), "");
  EXPECT_EQ(complaints("a: 1\n---\nb: 1\n"), "f:3: holds several documents (---); one is expected\n");
}

TEST(Yaml, KeysAreText) { EXPECT_NE(complaints("? [a, b]\n: 1\n").find("a key has to be text"), std::string::npos); }

TEST(Yaml, AliasInsideItself) { EXPECT_NE(complaints("a: &a [*a]\n").find("f:1"), std::string::npos); }

}  // namespace
}  // namespace outbox::config
