#include "support/nats_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "support/eventually.h"
#include "support/loopback.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

// It has said its INFO.
bool greets(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  char greeting[5] = {};
  const bool greeted = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                       ::recv(descriptor, greeting, 4, MSG_WAITALL) == 4 && std::string(greeting) == "INFO";
  ::close(descriptor);
  return greeted;
}

}  // namespace

NatsServer::NatsServer(const std::string& settings) : port_(free_port()) {
  write_file(folder_.file("nats.conf"), "listen: \"127.0.0.1:" + std::to_string(port_) +
                                            "\"\nserver_name: test\njetstream { store_dir: \"" + folder_.file("data") +
                                            "\" }\n" + settings + "\n");
  start();
}

void NatsServer::start() {
  process_ = std::make_unique<ChildProcess>(std::vector<std::string>{"nats-server", "-c", folder_.file("nats.conf")});
  if (!eventually(30s, [&] { return greets(port_) || !process_->running(); }) || !process_->running()) {
    throw std::runtime_error("nats-server: " + process_->standard_error());
  }
}

void NatsServer::pause() {
  process_->signal(SIGSTOP);
  const std::filesystem::path tasks = "/proc/" + std::to_string(process_->pid()) + "/task";
  const auto stands = [](const std::filesystem::directory_entry& task) {
    const std::string stat = read_file(task.path() / "stat");
    return stat.at(stat.rfind(')') + 2) == 'T';
  };
  const auto all = [&] { return std::ranges::all_of(std::filesystem::directory_iterator(tasks), stands); };
  if (!eventually(30s, all)) throw std::runtime_error("nats-server does not stop");
}

void NatsServer::resume() { process_->signal(SIGCONT); }

}  // namespace outbox::test
