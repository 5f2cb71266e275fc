#include "support/daemon.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/eventually.h"
#include "support/paths.h"

namespace outbox::test {

using namespace std::chrono_literals;

ProcessOptions Daemon::options(const Environment& environment) const {
  ProcessOptions made;
  made.environment = environment;
  made.directory = folder_.path().string();
  return made;
}

Ran Daemon::run(std::vector<std::string> arguments, const Environment& environment) const {
  arguments.insert(arguments.begin(), daemon_path().string());
  ChildProcess process(arguments, options(environment));
  const auto status = process.wait(120s);
  return {status ? status->code : -1, process.standard_output(), process.standard_error()};
}

std::unique_ptr<ChildProcess> Daemon::start(std::vector<std::string> arguments, const Environment& environment,
                                            const std::vector<std::string>& before) const {
  std::vector<std::string> all = before;
  all.push_back(daemon_path().string());
  all.push_back("run");
  all.insert(all.end(), arguments.begin(), arguments.end());
  return std::make_unique<ChildProcess>(all, options(environment));
}

Ran Daemon::run_once() const {
  Ran ran;
  eventually(30s, [&] {
    ran = run({"run", "--once"});
    return ran.code != 3 || ran.err.find("is at work on this outbox") == std::string::npos;
  });
  return ran;
}

int admin_port(const ChildProcess& relay) {
  const std::string before = "event=\"admin address open\" listen=127.0.0.1:";
  int port = 0;
  eventually(30s, [&] {
    const std::string log = relay.standard_error();
    const auto found = log.find(before);
    if (found == std::string::npos) return false;
    port = std::stoi(log.substr(found + before.size()));
    return true;
  });
  return port;
}

Page get(int port, const std::string& path) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
      char buffer[4096];
      for (ssize_t n; (n = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(n));
      }
    }
  }
  close(connection);
  const auto head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return {};
  return {std::stoi(answer.substr(answer.find(' ') + 1)), answer.substr(head + 4)};
}

std::string sample(const std::string& metrics, const std::string& name_and_labels) {
  for (const std::string& line : lines_of(metrics)) {
    if (line.starts_with(name_and_labels + " ")) return line.substr(name_and_labels.size() + 1);
  }
  return {};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace outbox::test
