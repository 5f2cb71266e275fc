#include "config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

namespace outbox::config {

namespace {

struct TooLarge {
  int line;
  std::string what;
};

// Null in plain style only: a quoted "" or "null" is text.
bool is_null(const std::string& tag, const std::string& value) {
  return tag == "?" && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
}

std::size_t count_nodes(const YamlNode& node) {
  std::size_t count = 1;
  for (const YamlNode& item : node.items) count += count_nodes(item);
  for (const auto& [key, value] : node.entries) count += count_nodes(value);
  return count;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Problems& problems) : problems_(problems) {}

  YamlNode root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(YamlNode::Kind::null, mark), anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchored_.find(anchor);
    if (target == anchored_.end()) throw TooLarge{line_of(mark), "this alias stands inside the value it names"};
    YamlNode copy = target->second;
    copy.line = line_of(mark);
    nodes_ += count_nodes(copy);
    check_size(copy.line);
    add(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = make(is_null(tag, value) ? YamlNode::Kind::null : YamlNode::Kind::scalar, mark);
    node.quoted = tag != "?";
    node.scalar = value;
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    push(make(YamlNode::Kind::sequence, mark), anchor);
  }
  void OnSequenceEnd() override { pop(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    push(make(YamlNode::Kind::map, mark), anchor);
  }
  void OnMapEnd() override { pop(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool key_usable = false;
    std::string key;
    int key_line = 0;
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    ++nodes_;
    check_size(node.line);
    return node;
  }

  void check_size(int line) const {
    if (nodes_ > kNodesMax) throw TooLarge{line, fmt::format("more than {} values, aliases expanded", kNodesMax)};
  }

  void push(YamlNode node, YAML::anchor_t anchor) {
    if (open_.size() >= static_cast<std::size_t>(kNestingMax)) {
      throw TooLarge{node.line, fmt::format("nested deeper than {} levels", kNestingMax)};
    }
    open_.push_back({std::move(node), anchor, false, false, {}, 0});
  }

  void pop() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) anchored_[anchor] = node;
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      take_value(parent, std::move(node));
    }
  }

  void take_key(Open& parent, const YamlNode& key) {
    parent.has_key = true;
    parent.key_line = key.line;
    parent.key_usable = key.kind == YamlNode::Kind::scalar;
    parent.key = key.scalar;
    if (!parent.key_usable) {
      problems_.error(key.line, "", "a key has to be text, this one is a " + std::string(key.kind_name()));
    } else if (const YamlNode* first = parent.node.find(key.scalar)) {
      problems_.error(key.line, key.scalar, fmt::format("given twice, first in line {}; remove one", first->line));
      parent.key_usable = false;
    }
  }

  void take_value(Open& parent, YamlNode node) {
    node.line = parent.key_line;
    if (parent.key_usable) parent.node.entries.emplace_back(std::move(parent.key), std::move(node));
    parent.has_key = false;
  }

  Problems& problems_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t nodes_ = 0;
};

// The parser's own words for a tab say nothing of tabs.
int first_tab_indented_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line.find('\t') < first) return number;
  }
  return 0;
}

void report_syntax(const std::string& text, const YAML::Exception& error, Problems& problems) {
  if (const int line = first_tab_indented_line(text); line > 0) {
    problems.error(line, "", "indented with a tab; YAML wants spaces");
    return;
  }
  problems.error(error.mark.is_null() ? 0 : error.mark.line + 1, "", "not YAML: " + error.msg);
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string_view YamlNode::kind_name() const {
  switch (kind) {
    case Kind::null: return "empty value";
    case Kind::scalar: return "single value";
    case Kind::sequence: return "list";
    case Kind::map: return "map";
  }
  return "?";
}

YamlNode parse_yaml(const std::string& text, Problems& problems) {
  if (text.size() > kFileBytesMax) {
    problems.error(0, "", fmt::format("larger than {} bytes: is this the right file?", kFileBytesMax));
    return {};
  }
  if (text.find('\0') != std::string::npos) {
    problems.error(0, "", "holds a NUL byte: is this the right file?");
    return {};
  }
  TreeBuilder builder(problems);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder rest(problems);
    if (parser.HandleNextDocument(rest))
      problems.error(rest.root.line, "", "holds several documents (---); one is expected");
  } catch (const TooLarge& error) {
    problems.error(error.line, "", error.what);
  } catch (const YAML::Exception& error) {
    report_syntax(text, error, problems);
  }
  return std::move(builder.root);
}

}  // namespace outbox::config
