#include "app/settings_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "app/registry.h"
#include "base/text.h"

namespace outbox::app {

namespace {

constexpr const char* kDefaultFile = "outboxd.yaml";

std::optional<std::string> settings_path(const ConfigFlags& flags, const config::Environment& environment) {
  if (flags.file) return flags.file;
  if (auto named = environment("OUTBOX_CONFIG")) return named;
  if (access(kDefaultFile, F_OK) == 0) return kDefaultFile;
  return std::nullopt;
}

void print(const std::vector<config::Problem>& problems) {
  for (const config::Problem& problem : problems) fmt::print(stderr, "{}\n", problem.text());
}

std::optional<config::Settings> load_path(const std::string& path, const ConfigFlags& flags,
                                          const config::Environment& environment) {
  auto result = config::load_file(path, {environment, flags.overrides, sink_kinds()});
  if (const auto* errors = std::get_if<std::vector<config::Problem>>(&result)) {
    print(*errors);
    return std::nullopt;
  }
  auto& loaded = std::get<config::Loaded>(result);
  print(loaded.warnings);
  return std::move(loaded.settings);
}

}  // namespace

std::optional<config::Settings> load_settings(const ConfigFlags& flags) {
  const auto environment = config::process_environment();
  const auto path = settings_path(flags, environment);
  if (path) return load_path(*path, flags, environment);
  report({FailureKind::invalid, "no configuration: name the file with --config FILE"});
  return std::nullopt;
}

std::optional<config::Settings> load_database_settings(const ConfigFlags& flags) {
  const auto environment = config::process_environment();
  std::optional<std::string> url = environment("OUTBOX_DATABASE");
  if (const auto flag = flags.overrides.find("database"); flag != flags.overrides.end()) url = flag->second;
  const auto path = settings_path(flags, environment);
  if (path && (flags.file || !url)) return load_path(*path, flags, environment);
  if (!url) {
    report({FailureKind::invalid, "no database: give --database URL or --config FILE"});
    return std::nullopt;
  }
  auto settings = config::database_only(*url, flags.table);
  if (settings) return *std::move(settings);
  report({FailureKind::invalid, "--database: " + settings.failure().what});
  return std::nullopt;
}

std::string summary(const config::Settings& settings) {
  const auto count = [](std::size_t number, const char* noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  return count(settings.sinks.size(), "sink") + ", " + count(settings.routes.size(), "route");
}

int report(const Failure& failure) {
  fmt::print(stderr, "outboxd: {}\n", one_line(failure.what));
  switch (failure.kind) {
    case FailureKind::invalid:
    case FailureKind::refused: return kUsage;
    case FailureKind::unavailable:
    case FailureKind::fenced:
    case FailureKind::local: return kOutOfReach;
  }
  return kOutOfReach;
}

}  // namespace outbox::app
