// `outboxd demo`: the shop, the partner and the killed relay; exit 1 if the checker finds a fault.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "app/commands/commands.h"
#include "app/demo.h"
#include "app/demo_view.h"
#include "app/settings_file.h"
#include "app/signals.h"

namespace outbox::app {

namespace {

std::unique_ptr<DemoViewer> make_viewer(bool json) {
  if (json) return make_silent_viewer();
  return ::isatty(STDOUT_FILENO) != 0 ? make_terminal_viewer() : make_line_viewer();
}

}  // namespace

int execute(const DemoFlags& flags) {
  std::string folder = (std::filesystem::temp_directory_path() / "outboxd-demo-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return report({FailureKind::local, "cannot make the folder " + folder + ": " + std::strerror(errno)});
  }
  block_signals();
  auto viewer = make_viewer(flags.json);
  const auto verdict = Demo(folder, *viewer).run(flags.run_for, wait_for_signal);
  viewer.reset();
  if (!verdict) return report(verdict.failure());
  fmt::print("{}", flags.json ? verdict_json(*verdict) : verdict_text(*verdict));
  if (!verdict->clean()) {
    fmt::print(stderr, "outboxd: the checker found a fault; everything is kept in {}\n", folder);
    return kAnswerIsNo;
  }
  std::error_code ignored;  // a folder that stays behind in the temporary files harms nobody
  std::filesystem::remove_all(folder, ignored);
  return kDone;
}

}  // namespace outbox::app
