// The admin server over real loopback sockets: what it answers, and what it does not put up with.
#include "admin/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/eventually.h"

namespace outbox {
namespace {

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{30, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }

  void send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  // Until the server closes.
  std::string read_all() {
    std::string all;
    char buffer[4096];
    while (true) {
      const auto count = recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(count));
    }
  }

  std::string read_some() {
    char buffer[4096];
    const auto count = recv(socket_, buffer, sizeof buffer, 0);
    return count <= 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(count));
  }

 private:
  int socket_;
  bool connected_ = false;
};

class AdminServerTest : public testing::Test {
 protected:
  void start(const AdminLimits& limits = {}) {
    AdminHandlers handlers;
    handlers["/metrics"] = [](const AdminRequest& request) {
      return AdminResponse{200, "text/plain", "query=" + request.query + "\n"};
    };
    handlers["/readyz"] = [](const AdminRequest&) { return AdminResponse{503, "application/json", "{}"}; };
    auto server = AdminServer::start({"127.0.0.1", 0}, handlers, limits);
    ASSERT_TRUE(server) << server.failure().what;
    server_ = *std::move(server);
  }

  std::string ask(const std::string& request) {
    Client client(server_->port());
    client.send(request);
    return client.read_all();
  }

  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, AnswersByPath) {
  start();
  const std::string ok = ask("GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ok.find("HTTP/1.1 200 "), 0u) << ok;
  EXPECT_TRUE(ok.ends_with("\r\n\r\nquery=a=b\n")) << ok;
  EXPECT_EQ(ask("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("HTTP/1.1 503 "), 0u);
  const std::string missing = ask("GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(missing.find("HTTP/1.1 404 "), 0u);
  EXPECT_NE(missing.find("/readyz"), std::string::npos);
}

TEST_F(AdminServerTest, OnlyReads) {
  start();
  EXPECT_EQ(ask("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab")
                .find("HTTP/1.1 405 "),
            0u);
  const std::string head = ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head.find("HTTP/1.1 200 "), 0u);
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << "no body";
}

TEST_F(AdminServerTest, KeepsAConnectionForFurtherRequests) {
  start();
  Client client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.read_some().find("HTTP/1.1 200 "), 0u);
  }
}

TEST_F(AdminServerTest, RefusesWhatIsTooLargeOrNoHttp) {
  start();
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n").find("HTTP/1.1 431 "), 0u);
  EXPECT_EQ(ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n").find("HTTP/1.1 413 "), 0u);
  EXPECT_EQ(ask("nonsense\r\n\r\n").find("HTTP/1.1 400 "), 0u);
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("HTTP/1.1 200 "), 0u)
      << "and goes on";
}

// A client that sends its request byte by byte for ever is cut off, however busy it looks.
TEST_F(AdminServerTest, ASlowRequestIsCutOff) {
  AdminLimits limits;
  limits.request_timeout = 200ms;
  start(limits);
  Client client(server_->port());
  client.send("GET /met");
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(AdminServerTest, ConnectionsAreBoundedAndFreedAgain) {
  AdminLimits limits;
  limits.connections = 2;
  start(limits);
  {
    Client first(server_->port());
    Client second(server_->port());
    for (Client* client : {&first, &second}) {
      client->send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_EQ(client->read_some().find("HTTP/1.1 200 "), 0u);
    }
    Client third(server_->port());
    third.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(third.read_all(), "");
  }
  EXPECT_TRUE(test::eventually(30s, [&] {
    return ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("HTTP/1.1 200 ") == 0;
  }));
}

TEST_F(AdminServerTest, AnAddressThatIsTakenIsNamed) {
  start();
  const auto second = AdminServer::start({"127.0.0.1", server_->port()}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().kind, FailureKind::local);
  EXPECT_NE(second.failure().what.find("127.0.0.1:" + std::to_string(server_->port())), std::string::npos);
}

TEST_F(AdminServerTest, StopsWithConnectionsOpen) {
  start();
  Client idle(server_->port());
  Client half(server_->port());
  half.send("GET /metrics HTTP/1.1\r\n");
  server_.reset();
  EXPECT_EQ(half.read_all(), "");
  EXPECT_EQ(idle.read_all(), "");
}

}  // namespace
}  // namespace outbox
