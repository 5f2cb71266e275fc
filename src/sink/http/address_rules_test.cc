#include "sink/http/address_rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace outbox::http {
namespace {

bool is_private(const std::string& text) {
  sockaddr_storage storage{};
  if (text.find(':') == std::string::npos) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &in.sin_addr), 1) << text;
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &in.sin6_addr), 1) << text;
    std::memcpy(&storage, &in, sizeof in);
  }
  return private_address(reinterpret_cast<const sockaddr&>(storage));
}

TEST(PrivateAddress, Refused) {
  for (const char* text : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.254",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.9",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.1.2.3",
                           "::127.0.0.1",
                           "::ffff:0:7f00:1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::808:808",
                           "64:ff9b:1::1",
                           "100::1",
                           "2001::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "2002:808:808::1",
                           "3fff::1",
                           "3fff:fff::1",
                           "5f00::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "ff02::1"}) {
    EXPECT_TRUE(is_private(text)) << text;
  }
}

TEST(PrivateAddress, Allowed) {
  for (const char* text : {"1.1.1.1",
                           "8.8.8.8",
                           "9.255.255.255",
                           "11.0.0.0",
                           "100.63.255.255",
                           "100.128.0.0",
                           "126.255.255.255",
                           "128.0.0.0",
                           "169.253.0.1",
                           "172.15.255.255",
                           "172.32.0.0",
                           "192.0.1.0",
                           "192.167.255.255",
                           "192.169.0.0",
                           "198.17.255.255",
                           "198.20.0.0",
                           "223.255.255.255",
                           "::ffff:8.8.8.8",
                           "2001:4860:4860::8888",
                           "2606:4700::1111",
                           "2003::1",
                           "3ffe::1",
                           "65:ff9b::1"}) {
    EXPECT_FALSE(is_private(text)) << text;
  }
}

TEST(PrivateAddress, OtherFamiliesAreRefused) {
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_TRUE(private_address(local));
}

}  // namespace
}  // namespace outbox::http
