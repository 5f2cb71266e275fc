// Reading a configuration: text → Settings, or every error at once. Nothing is connected to.
//
// config/ knows no sink: what kinds there are, with their option tables, comes in from the app's registry.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/environment.h"
#include "config/options.h"
#include "config/problem.h"
#include "config/settings.h"

namespace outbox::config {

// See sink/sink_type.h.
struct SinkKind {
  std::string_view name;
  std::string_view summary;
  OptionTable options;
  std::string_view address_option;
  std::string (*default_address)(const Values& options) = nullptr;
  std::function<Result<void>(std::string_view name, const Values& options)>
      check;  // once all else is well; may be empty
  Result<void> (*check_address)(std::string_view address) = nullptr;
  std::vector<OptionProblem> (*check_options)(const Values& options) = nullptr;
  std::string_view second_address_option = {};
  std::string (*route_address)(const Values& options, const Values& route) = nullptr;
};

struct Loaded {
  Settings settings;
  std::vector<Problem> warnings;
};

// Settings that a flag or the environment may override, by key: "database", "admin.listen", "log.level", "log.format".
// Precedence: flag > environment (OUTBOX_DATABASE, OUTBOX_ADMIN_LISTEN, …) > file.
using Overrides = std::map<std::string, std::string>;

struct LoadContext {
  Environment environment;
  Overrides flags;
  std::span<const SinkKind> kinds;
};

using LoadResult = std::variant<Loaded, std::vector<Problem>>;

LoadResult load_file(const std::string& path, const LoadContext& context);
// `name` stands in the complaints as the file.
LoadResult load_text(const std::string& name, const std::string& text, const LoadContext& context);

// For commands that need a database only (--database instead of --config): defaults for everything else.
Result<Settings> database_only(const std::string& url, const std::string& table);

}  // namespace outbox::config
