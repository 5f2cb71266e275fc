// FaultProxy before a server that says back what it hears.
#include "support/fault_proxy.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "support/eventually.h"
#include "support/loopback.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

bool await(int descriptor, short events, std::chrono::milliseconds deadline = 20s) {
  pollfd wanted{descriptor, events, 0};
  return ::poll(&wanted, 1, static_cast<int>(deadline.count())) == 1;
}

// One connection at a time, on a thread of its own.
class Echo {
 public:
  Echo() : listener_(listen_on_loopback(0)), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Echo() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int port() const { return port_of(listener_); }
  std::size_t heard() const { return heard_; }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      await(listener_, POLLIN);
      const int peer = ::accept(listener_, nullptr, nullptr);
      char bytes[4096];
      ssize_t got = 0;
      while (peer >= 0 && (got = ::recv(peer, bytes, sizeof bytes, 0)) > 0) {
        heard_ += static_cast<std::size_t>(got);
        ::send(peer, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL);
      }
      ::close(peer);
    }
  }

  int listener_;
  std::atomic<std::size_t> heard_ = 0;
  std::jthread thread_;
};

class Client {
 public:
  explicit Client(int port) : descriptor_(connect_to_loopback(port)) {}
  ~Client() { ::close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void say(const std::string& text) const {
    await(descriptor_, POLLOUT);
    ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // So many bytes; fewer where the connection ended before.
  std::string hear(std::size_t count) {
    std::string heard;
    while (heard.size() < count && await(descriptor_, POLLIN)) {
      char bytes[4096];
      const auto got = ::recv(descriptor_, bytes, std::min(sizeof bytes, count - heard.size()), 0);
      error_ = got < 0 ? errno : 0;
      if (got <= 0) break;
      heard.append(bytes, static_cast<std::size_t>(got));
    }
    return heard;
  }
  bool silent() const { return !await(descriptor_, POLLIN, 50ms); }
  int error() const { return error_; }
  void end() const { ::shutdown(descriptor_, SHUT_WR); }

 private:
  int descriptor_;
  int error_ = 0;
};

class Proxy : public testing::Test {
 protected:
  Echo echo_;
  FaultProxy proxy_{echo_.port()};
};

TEST_F(Proxy, ForwardsBothWaysAndTheEnd) {
  Client client(proxy_.port());
  client.say("hello");
  EXPECT_EQ(client.hear(5), "hello");
  client.end();
  EXPECT_EQ(client.hear(1), "");
  EXPECT_EQ(client.error(), 0);
  EXPECT_TRUE(eventually(20s, [&] { return proxy_.connections() == 0; }));
  EXPECT_EQ(proxy_.attempts().size(), 1u);
}

TEST_F(Proxy, HoldsWithoutEndingAndGoesOn) {
  Client client(proxy_.port());
  client.say("a");
  EXPECT_EQ(client.hear(1), "a");
  proxy_.set({.hold = true});
  client.say("b");
  EXPECT_TRUE(client.silent());
  EXPECT_EQ(echo_.heard(), 1u);
  proxy_.set({});
  EXPECT_EQ(client.hear(1), "b");
}

TEST_F(Proxy, DropsAnswersOnly) {
  Client client(proxy_.port());
  proxy_.set({.drop_answers = true});
  client.say("a");
  EXPECT_TRUE(eventually(20s, [&] { return echo_.heard() == 1; }));
  EXPECT_TRUE(client.silent());
}

TEST_F(Proxy, CutsByReset) {
  Client client(proxy_.port());
  client.say("a");
  EXPECT_EQ(client.hear(1), "a");
  proxy_.cut();
  EXPECT_EQ(client.hear(1), "");
  EXPECT_EQ(client.error(), ECONNRESET);
  Client next(proxy_.port());
  next.say("b");
  EXPECT_EQ(next.hear(1), "b");
}

TEST_F(Proxy, RefusesAndTurnsAway) {
  proxy_.set({.refuse = true});
  EXPECT_EQ(Client(proxy_.port()).hear(1), "");
  EXPECT_EQ(proxy_.attempts().size(), 0u);
  proxy_.set({.turn_away = true});
  Client turned(proxy_.port());
  EXPECT_EQ(turned.hear(1), "");
  EXPECT_EQ(turned.error(), ECONNRESET);
  EXPECT_EQ(proxy_.attempts().size(), 1u);
  proxy_.set({});
  Client taken(proxy_.port());
  taken.say("a");
  EXPECT_EQ(taken.hear(1), "a");
}

TEST_F(Proxy, PassesAllOfALotAtALimitedRate) {
  proxy_.set({.delay = 1ms, .bytes_per_second = 4'000'000});
  Client client(proxy_.port());
  const std::string text(400'000, 'x');
  std::jthread speaker([&] {
    for (std::size_t at = 0; at < text.size(); at += 1000) client.say(text.substr(at, 1000));
  });
  EXPECT_EQ(client.hear(text.size()).size(), text.size());
}

}  // namespace
}  // namespace outbox::test
