// YamlTree: a YAML document as plain values with line numbers, so that every complaint can name its line. The parser
// library stays behind this header.
//
// Refused here: duplicate keys, several documents, nesting, expansion and size beyond the bounds below, keys that are
// not plain text. Anchors and aliases are fine. Nothing is typed: every scalar is text, `quoted` says how it stood.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/problem.h"

namespace outbox::config {

inline constexpr std::size_t kFileBytesMax = 1u << 20;
inline constexpr int kNestingMax = 32;
inline constexpr std::size_t kNodesMax = 50'000;  // aliases counted as often as they are used

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  int line = 0;  // from 1
  bool quoted = false;
  bool literal = false;  // not from the file but from a flag or the environment: ${…} means nothing in it
  std::string scalar{};
  std::vector<YamlNode> items{};
  std::vector<std::pair<std::string, YamlNode>> entries{};  // in the file's order; YamlNode::line is the key's line

  const YamlNode* find(std::string_view key) const;
  std::string_view kind_name() const;
};

// Every complaint goes to `problems`; what could be read is returned.
YamlNode parse_yaml(const std::string& text, Problems& problems);

}  // namespace outbox::config
