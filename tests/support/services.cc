#include "support/services.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "support/child_process.h"
#include "support/paths.h"

namespace outbox::test {
namespace {

std::string name_of(Service service) {
  switch (service) {
    case Service::postgresql: return "postgresql";
    case Service::postgresql_newest: return "postgresql-newest";
    case Service::kafka: return "kafka";
    case Service::rabbitmq: return "rabbitmq";
    case Service::pgbouncer: return "pgbouncer";
    case Service::nats: return "nats";
  }
  throw std::logic_error("no such service");
}

std::string run_tool(const std::string& verb, Service service) {
  using namespace std::chrono_literals;
  ChildProcess tool({(source_dir() / "tools/services").string(), verb, name_of(service)});
  const auto status = tool.wait(120s);
  if (!status || !status->succeeded()) {
    throw std::runtime_error("tools/services " + verb + " " + name_of(service) + ": " + tool.standard_error());
  }
  return tool.standard_output();
}

}  // namespace

std::string environment_variable(Service service) {
  std::string name = "OUTBOX_" + name_of(service);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

std::optional<std::string> find_service(Service service) {
  const char* address = std::getenv(environment_variable(service).c_str());
  if (address == nullptr || *address == '\0') return std::nullopt;
  return address;
}

void kill_service(Service service) { run_tool("kill", service); }
void stop_service(Service service) { run_tool("stop", service); }
void start_service(Service service) { run_tool("start", service); }

pid_t service_pid(Service service) {
  const std::string status = run_tool("status", service);
  const std::string before = "process ";
  const auto found = status.find(before);
  if (found == std::string::npos) throw std::runtime_error(name_of(service) + " does not run");
  return std::stoi(status.substr(found + before.size()));
}

}  // namespace outbox::test
