#include "support/rabbitmq_control.h"

#include <chrono>
#include <stdexcept>

#include "support/child_process.h"
#include "support/paths.h"

namespace outbox::test {

std::string rabbitmqctl(const std::vector<std::string>& arguments) {
  using namespace std::chrono_literals;
  std::vector<std::string> command{(source_dir() / "tools/services").string(), "ctl", "rabbitmq"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildProcess tool(command);
  const auto status = tool.wait(120s);
  if (!status || !status->succeeded()) throw std::runtime_error("rabbitmqctl: " + tool.standard_error());
  return tool.standard_output();
}

void save_declarations() {
  rabbitmqctl({"eval", "ok = mnesia:sync_log(), [begin ok = dets:sync(T), T end || T <- dets:all()]."});
}

}  // namespace outbox::test
