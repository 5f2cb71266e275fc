#include "support/nats_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  const bool bound = ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(descriptor);
  if (!bound) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

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
