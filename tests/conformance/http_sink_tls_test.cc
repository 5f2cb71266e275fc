// TLS: the far end is verified, and may ask for a client certificate.
#include "conformance/http_sink_fixture.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

class HttpTls : public HttpSinkTest {
 protected:
  void SetUp() override {
    make_certificate("server", "localhost");
    make_certificate("client", "outboxd");
    make_certificate("other", "localhost");
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
  HttpStub::Tls server(const std::string& client_ca = {}) const {
    return {file("server.pem"), file("server.key"), client_ca};
  }
  static std::string url(const HttpStub& stub, const std::string& host) {
    return "https://" + host + ":" + std::to_string(stub.port()) + "/";
  }

  TempDir dir_;
};

TEST_F(HttpTls, AKnownAuthorityAndTheRightName) {
  const auto tls = server();
  HttpStub stub({}, &tls);
  open({{"tls.ca", file("server.pem")}});
  EXPECT_EQ(words(send(make_record(1, "a"), url(stub, "localhost"))), "delivered status 200");
  EXPECT_EQ(words(send(make_record(2, "a"), url(stub, "127.0.0.1"))), "busy destination tls");
  EXPECT_EQ(stub.request_count(), 1u);
}

TEST_F(HttpTls, AnUnknownAuthorityIsRefused) {
  const auto tls = server();
  HttpStub stub({}, &tls);
  open({{"tls.ca", file("other.pem")}});
  EXPECT_EQ(words(send(make_record(1, "a"), url(stub, "localhost"))), "busy destination tls");
  EXPECT_EQ(stub.request_count(), 0u);
}

TEST_F(HttpTls, AClientCertificate) {
  const auto tls = server(file("client.pem"));
  HttpStub stub({}, &tls);
  open({{"tls.ca", file("server.pem")}, {"tls.certificate", file("client.pem")}, {"tls.key", file("client.key")}});
  EXPECT_EQ(words(send(make_record(1, "a"), url(stub, "localhost"))), "delivered status 200");
}

TEST_F(HttpTls, AMissingClientCertificateIsNoDelivery) {
  const auto tls = server(file("client.pem"));
  HttpStub stub({}, &tls);
  open({{"tls.ca", file("server.pem")}});
  EXPECT_NE(send(make_record(1, "a"), url(stub, "localhost")).verdict, Verdict::delivered);
  EXPECT_EQ(stub.request_count(), 0u);
}

TEST_F(HttpTls, AnUnreadableFileFailsOpen) {
  auto sink = create({{"tls.ca", file("missing.pem")}});
  ASSERT_TRUE(sink);
  const auto opened = (*sink)->open(log_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.failure().kind, FailureKind::local);
  EXPECT_NE(opened.failure().what.find("missing.pem"), std::string::npos);
}

}  // namespace
}  // namespace outbox::test
