// The demo's partner, over real loopback HTTP.
#include "app/demo_partner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/eventually.h"

namespace outbox::app {
namespace {

using test::eventually;

// One request on a connection of its own. The status; 0: closed or refused; -1: no answer within `patience`.
int post(const DemoPartner& partner, const std::string& key, const std::string& body,
         std::chrono::milliseconds patience = std::chrono::seconds(10)) {
  const std::string url = partner.url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const timeval limit{patience.count() / 1000, (patience.count() % 1000) * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  int status = 0;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "POST /invoices HTTP/1.1\r\nHost: partner\r\nIdempotency-Key: " + key +
                                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    char answer[512] = {};
    const auto got = ::recv(socket, answer, sizeof answer - 1, 0);
    if (got < 0 && errno == EAGAIN) status = -1;
    if (got > 12) status = std::stoi(std::string(answer).substr(9, 3));
  }
  ::close(socket);
  return status;
}

constexpr const char* kOrder = R"({"order":1,"vat_id":"DE1"})";

class Partner : public testing::Test {
 protected:
  Partner() : partner_(std::move(*DemoPartner::start())) {}

  std::unique_ptr<DemoPartner> partner_;
};

TEST_F(Partner, MakesOneInvoiceHoweverOftenAnOrderComes) {
  EXPECT_EQ(post(*partner_, "a", kOrder), 201);
  EXPECT_EQ(post(*partner_, "a", kOrder), 200);
  EXPECT_EQ(post(*partner_, "b", kOrder), 201);
  const auto counts = partner_->counts();
  EXPECT_EQ(counts.invoices, 2);
  EXPECT_EQ(counts.repeats, 1);
  ASSERT_EQ(partner_->arrivals().size(), 3u);
  EXPECT_EQ(partner_->arrivals()[1].key, "a");
  EXPECT_EQ(partner_->arrivals()[1].body, kOrder);
}

TEST_F(Partner, RefusesWhatCanNeverBeAccepted) {
  EXPECT_EQ(post(*partner_, "a", R"({"order":1,"vat_id":""})"), 422);
  EXPECT_EQ(post(*partner_, "a", R"({"order":1,"vat_id":""})"), 422);
  EXPECT_EQ(post(*partner_, "", kOrder), 400);
  EXPECT_EQ(partner_->counts().refused, 1);
  EXPECT_EQ(partner_->counts().invoices, 0);
}

TEST_F(Partner, FailsWithoutDoingAnything) {
  partner_->stay(Mood::failing);
  EXPECT_EQ(post(*partner_, "a", kOrder), 500);
  partner_->stay(Mood::well);
  EXPECT_EQ(post(*partner_, "a", kOrder), 201);
  EXPECT_EQ(partner_->counts().failed, 1);
}

TEST_F(Partner, HangsAfterTheInvoiceWasMade) {
  partner_->stay(Mood::hanging);
  EXPECT_EQ(post(*partner_, "a", kOrder, std::chrono::milliseconds(50)), -1);
  ASSERT_TRUE(eventually(std::chrono::seconds(10), [&] { return partner_->counts().hung == 1; }));
  partner_->stay(Mood::well);
  EXPECT_EQ(post(*partner_, "a", kOrder), 200);
  EXPECT_EQ(partner_->counts().invoices, 1);
}

TEST_F(Partner, GoesDownAndComesBackUnderTheSameAddress) {
  const auto url = partner_->url();
  partner_->stay(Mood::down);
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return post(*partner_, "a", kOrder) == 0; }));
  partner_->stay(Mood::well);
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return post(*partner_, "a", kOrder) != 0; }));
  EXPECT_EQ(partner_->url(), url);
}

TEST(PartnerTurns, TakeEachOtherOverUntilItStays) {
  const Duration shortly{30'000};
  auto partner = std::move(*DemoPartner::start({{Mood::failing, shortly}, {Mood::hanging, shortly}}));
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return partner->mood() == Mood::failing; }));
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return partner->mood() == Mood::hanging; }));
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return partner->mood() == Mood::failing; }));
  partner->stay(Mood::well);
  EXPECT_EQ(post(*partner, "a", kOrder), 201);
  EXPECT_EQ(partner->mood(), Mood::well);
}

}  // namespace
}  // namespace outbox::app
