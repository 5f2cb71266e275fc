#include "config/load.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "config/database_url.h"
#include "config/settings_reader.h"
#include "config/yaml_tree.h"

namespace outbox::config {

namespace {

struct Overridable {
  std::string_view key;
  std::string_view variable;
};
constexpr Overridable kOverridable[] = {
    {"database", "OUTBOX_DATABASE"},
    {"admin.listen", "OUTBOX_ADMIN_LISTEN"},
    {"log.level", "OUTBOX_LOG_LEVEL"},
    {"log.format", "OUTBOX_LOG_FORMAT"},
};

void set_value(YamlNode& root, const std::string& key, const std::string& value) {
  if (root.kind == YamlNode::Kind::null) root.kind = YamlNode::Kind::map;
  YamlNode* node = &root;
  for (const std::string& part : split(key, '.')) {
    if (node->kind != YamlNode::Kind::map) return;  // wrong already, and said so when it is read
    auto* child = const_cast<YamlNode*>(node->find(part));
    if (child == nullptr) {
      child = &node->entries.emplace_back(part, YamlNode{.kind = YamlNode::Kind::map}).second;
    }
    node = child;
  }
  *node = YamlNode{.kind = YamlNode::Kind::scalar, .quoted = true, .literal = true, .scalar = value};
}

void apply_overrides(YamlNode& root, const LoadContext& context) {
  for (const Overridable& each : kOverridable) {
    const std::string key(each.key);
    if (const auto flag = context.flags.find(key); flag != context.flags.end()) {
      set_value(root, key, flag->second);
    } else if (const auto value = context.environment(std::string(each.variable))) {
      set_value(root, key, *value);
    }
  }
}

}  // namespace

LoadResult load_text(const std::string& name, const std::string& text, const LoadContext& context) {
  Problems problems(name);
  YamlNode root = parse_yaml(text, problems);
  if (problems.has_errors() && root.kind == YamlNode::Kind::null) return problems.sorted();
  apply_overrides(root, context);
  Settings settings = SettingsReader(context, problems).read(root);
  if (problems.has_errors()) return problems.sorted();
  return Loaded{std::move(settings), problems.sorted()};
}

LoadResult load_file(const std::string& path, const LoadContext& context) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    Problems problems(path);
    problems.error(
        0, "",
        fmt::format("cannot be read: {}; name the file with --config FILE", std::strerror(errno != 0 ? errno : EIO)));
    return problems.sorted();
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return load_text(path, text, context);
}

Result<Settings> database_only(const std::string& url, const std::string& table) {
  if (const auto kind = database_kind(url); !kind) return kind.failure();
  Settings settings;
  settings.database = url;
  settings.outbox.table = table;
  return settings;
}

}  // namespace outbox::config
