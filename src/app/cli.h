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

struct CheckFlags {
  ConfigFlags config;
  bool json = false;
};

struct PruneFlags {
  ConfigFlags config;
  bool dry_run = false;
};

// Which deliveries a command is about.
struct FilterFlags {
  std::vector<std::string> ids;
  std::string sink;
  std::string key;
  std::string type;
  std::string owner;
  std::string died_of;
  std::string since;  // 1h, or a time

  bool empty() const {
    return ids.empty() && sink.empty() && key.empty() && type.empty() && owner.empty() && died_of.empty() &&
           since.empty();
  }
};

// Who does it, and why: for the audit.
struct ActFlags {
  std::string actor;  // empty: user@host
  std::string reason;
};

struct ListFlags {
  ConfigFlags config;
  std::string state = "dead";
  FilterFlags filter;
  std::size_t limit = 100;
  bool json = false;
};

struct ShowFlags {
  ConfigFlags config;
  std::string id;
  std::string sink;
  bool payload = false;
  bool json = false;
};

struct RequeueFlags {
  ConfigFlags config;
  FilterFlags filter;
  ActFlags act;
  bool all = false;
  bool dry_run = false;
  std::optional<std::string> payload_file;
  bool same_id = false;
};

struct DiscardFlags {
  ConfigFlags config;
  FilterFlags filter;
  ActFlags act;
  bool all = false;
  bool dry_run = false;
};

struct PauseFlags {
  ConfigFlags config;
  ActFlags act;
  std::string sink;
};

struct ResumeFlags {
  ConfigFlags config;
  ActFlags act;
  std::string sink;
};

struct SinkForgetFlags {
  ConfigFlags config;
  ActFlags act;
  std::string sink;
  bool yes = false;
};

struct ConfigLintFlags {
  ConfigFlags config;
};
struct ConfigDocFlags {};
struct ConfigSchemaFlags {};

struct VersionFlags {
  bool json = false;
};

using Command = std::variant<RunFlags, DemoFlags, InitFlags, CheckFlags, SendFlags, StatusFlags, ListFlags, ShowFlags,
                             RequeueFlags, DiscardFlags, PauseFlags, ResumeFlags, SinkForgetFlags, PruneFlags,
                             ConfigLintFlags, ConfigDocFlags, ConfigSchemaFlags, VersionFlags>;

// Either what to do, or the exit code because help or an error was already printed.
std::variant<Command, int> parse_command_line(int argc, const char* const* argv);

}  // namespace outbox::app
