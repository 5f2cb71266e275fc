// Who may connect and publish to NATS, and over what: credentials, permissions, TLS, several servers.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "conformance/sink_nats_fixture.h"
#include "support/child_process.h"

namespace outbox::test {
namespace {

class NatsAccess : public NatsSinkTest {
 protected:
  std::string with_user(const std::string& user_and_password) const {
    return "nats://" + user_and_password + "@127.0.0.1:" + std::to_string(server_->port());
  }

  // Self-signed, so it is its own authority.
  void make_certificate(const std::string& name, const std::string& host) {
    ChildProcess openssl({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                          "-nodes", "-days", "2", "-subj", "/CN=" + host, "-addext", "subjectAltName=DNS:" + host,
                          "-keyout", file(name + ".key"), "-out", file(name + ".pem")});
    const auto status = openssl.wait(std::chrono::seconds(60));
    ASSERT_TRUE(status && status->succeeded()) << openssl.standard_error();
  }
  std::string file(const std::string& name) const { return dir_.file(name); }
  void serve_tls(const std::string& more = {}) {
    make_certificate("server", "localhost");
    serve("tls { cert_file: \"" + file("server.pem") + "\", key_file: \"" + file("server.key") + "\"" + more + " }");
  }
  std::string tls_url(const std::string& host) const { return "tls://" + host + ":" + std::to_string(server_->port()); }

  TempDir dir_;
};

TEST_F(NatsAccess, WrongCredentialsAreTheSinksFaultAndStayUnseen) {
  serve(R"(authorization { user: "relay", password: "sec\"ret" })");
  open({{"user", "relay"}, {"password", "hunter2"}});
  const Outcome outcome = send(make_record(1, "a"), "orders.x");
  EXPECT_EQ(words(outcome), "busy sink authentication");
  EXPECT_NE(outcome.detail.find("nats://127.0.0.1"), std::string::npos) << outcome.detail;
  EXPECT_EQ(outcome.detail.find("hunter2"), std::string::npos) << outcome.detail;
  sink_->close();
  open();
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink authentication") << "none at all";
  sink_->close();
  open({{"user", "relay"}, {"password", "sec\"ret"}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy destination no_stream");
}

TEST_F(NatsAccess, AToken) {
  serve(R"(authorization { token: "t-1" })");
  open({{"token", "wrong"}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink authentication");
  sink_->close();
  open({{"token", "t-1"}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy destination no_stream");
}

TEST_F(NatsAccess, ASubjectThatMayNotBeWrittenToHoldsNobody) {
  serve(R"(authorization { users: [
    { user: "admin", password: "admin" },
    { user: "relay", password: "relay", permissions: { publish: { deny: "private.>" } } } ] })");
  const NatsStream stream(with_user("admin:admin"), "orders");
  open({{"user", "relay"}, {"password", "relay"}});
  EXPECT_EQ(words(send(make_record(1, "a"), stream.subject())), "delivered");
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = send(make_record(2, "a"), "private.x");
    EXPECT_EQ(words(outcome), "busy destination not_authorized");
    EXPECT_NE(outcome.detail.find("private.x"), std::string::npos) << outcome.detail;
  }
  EXPECT_EQ(words(send(make_record(3, "b"), stream.subject())), "delivered");
}

TEST_F(NatsAccess, WhoMayNotHearAnswersIsTold) {
  serve(R"(authorization { users: [
    { user: "relay", password: "relay", permissions: { publish: ">", subscribe: { deny: "_INBOX.>" } } } ] })");
  open({{"user", "relay"}, {"password", "relay"}});
  const Outcome outcome = send(make_record(1, "a"), "orders.x");
  EXPECT_EQ(words(outcome), "busy sink not_authorized");
  EXPECT_NE(outcome.detail.find("Subscription"), std::string::npos) << outcome.detail;
}

TEST_F(NatsAccess, TlsVerifiesAuthorityAndName) {
  serve_tls();
  open({{"servers", tls_url("localhost")}, {"tls.ca", file("server.pem")}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy destination no_stream");
  sink_->close();
  open({{"servers", tls_url("127.0.0.1")}, {"tls.ca", file("server.pem")}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink tls") << "another name";
  sink_->close();
  make_certificate("other", "localhost");
  open({{"servers", tls_url("localhost")}, {"tls.ca", file("other.pem")}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink tls") << "another authority";
  sink_->close();
  open();
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink tls") << "none, where the server wants it";
}

TEST_F(NatsAccess, AClientCertificate) {
  make_certificate("client", "relay");
  serve_tls(", verify: true, ca_file: \"" + file("client.pem") + "\"");
  open({{"servers", tls_url("localhost")}, {"tls.ca", file("server.pem")}});
  EXPECT_TRUE(words(send(make_record(1, "a"), "orders.x")).starts_with("busy sink ")) << "it has none";
  sink_->close();
  open({{"servers", tls_url("localhost")},
        {"tls.ca", file("server.pem")},
        {"tls.certificate", file("client.pem")},
        {"tls.key", file("client.key")}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy destination no_stream");
}

TEST_F(NatsAccess, ManyMessagesOverTls) {
  serve_tls();
  open({{"servers", tls_url("localhost")}, {"tls.ca", file("server.pem")}});
  std::vector<Publication> batch;
  for (int i = 0; i < 2'000; ++i) {
    batch.push_back(publication(++last_id_, make_record(i, std::to_string(i), std::string(5'000, 'x')), "orders.x"));
  }
  sink_->publish(batch);
  ASSERT_TRUE(log_.wait(batch.size()));
  for (const Publication& each : batch) ASSERT_EQ(words(log_.wait_for(each.id)), "busy destination no_stream");
}

TEST_F(NatsAccess, ThePlaceOfADeadServerIsTakenByTheNext) {
  serve();
  const auto stream = make_stream();
  open({{"servers", "nats://127.0.0.1:1," + server_->url()}});
  EXPECT_EQ(words(send(make_record(1, "a"), stream->subject())), "delivered");
}

// Says that it wants TLS, and nothing more.
class SilentServer {
 public:
  SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::jthread([this] {
      for (int peer = 0; (peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        const std::string info =
            "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,\"max_payload\":1048576,"
            "\"tls_required\":true}\r\n";
        EXPECT_EQ(::send(peer, info.data(), info.size(), MSG_NOSIGNAL), static_cast<ssize_t>(info.size()));
        peers_.push_back(peer);
      }
    });
  }
  ~SilentServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int peer : peers_) ::close(peer);
    ::close(listener_);
  }
  int port() const { return port_; }

 private:
  int listener_;
  int port_ = 0;
  std::vector<int> peers_;
  std::jthread thread_;
};

TEST_F(NatsAccess, AHandshakeThatIsNeverAnsweredEnds) {
  make_certificate("server", "localhost");
  const SilentServer silent;
  open({{"servers", "tls://localhost:" + std::to_string(silent.port())},
        {"tls.ca", file("server.pem")},
        {"timeout.connect", "300ms"}});
  EXPECT_EQ(words(send(make_record(1, "a"), "orders.x")), "busy sink tls");
}

}  // namespace
}  // namespace outbox::test
