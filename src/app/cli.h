// The command line, parsed into plain values. The parser library stays in cli.cc.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "config/load.h"

namespace outbox::app {

// Interface: "Exit codes".
inline constexpr int kDone = 0;
inline constexpr int kAnswerIsNo = 1;
inline constexpr int kUsage = 2;       // usage or configuration
inline constexpr int kOutOfReach = 3;  // database or sink

struct ConfigFlags {
  std::optional<std::string> file;  // --config
  config::Overrides overrides;      // --database and the like, by configuration key
  std::string table = "outbox";     // --table: read with --database only; a file says it itself
};

struct RunFlags {
  ConfigFlags config;
  bool once = false;
};

struct DemoFlags {
  std::optional<Duration> run_for;
  bool json = false;
};

struct InitFlags {
  ConfigFlags config;
  std::string payload = "json";
  std::string capture = "poll";
  bool print = false;
};

struct SendFlags {
  ConfigFlags config;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string type;
  std::optional<std::string> payload;
  std::optional<std::string> payload_file;  // "-": standard input
  bool bytes = false;
  std::string id;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> not_before;
  std::optional<std::int64_t> aggregate_version;
  std::optional<std::int32_t> schema_version;
  std::string traceparent;
};

struct StatusFlags {
  ConfigFlags config;
  bool watch = false;
  bool json = false;
};

struct PruneFlags {
  ConfigFlags config;
  bool dry_run = false;
};

struct ConfigLintFlags {
  ConfigFlags config;
};
struct ConfigDocFlags {};
struct ConfigSchemaFlags {};

struct VersionFlags {
  bool json = false;
};

using Command = std::variant<RunFlags, DemoFlags, InitFlags, SendFlags, StatusFlags, PruneFlags, ConfigLintFlags,
                             ConfigDocFlags, ConfigSchemaFlags, VersionFlags>;

// Either what to do, or the exit code because help or an error was already printed.
std::variant<Command, int> parse_command_line(int argc, const char* const* argv);

}  // namespace outbox::app
