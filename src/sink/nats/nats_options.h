// The nats sink's options: the table, and the values checked and ready for use.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/options.h"

namespace outbox::nats {

config::OptionTable option_table();

struct Server {
  std::string url;   // nats://host:port; safe to print
  std::string host;  // what its certificate must name
};

// Values that go into the client's CONNECT line are JSON strings there, which the client does not escape: these are.
struct Credentials {
  std::string file;  // a .creds file: JWT and NKey seed
  std::string user;
  std::string password;
  std::string token;
};

struct NatsOptions {
  std::string sink;  // its name in the configuration, for messages
  std::vector<Server> servers;
  bool tls = false;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  Credentials credentials;
  std::size_t window = 4096;
  std::chrono::milliseconds connect_timeout{2'000};
  std::chrono::milliseconds confirm_timeout{10'000};
};

// See SinkType::check_options.
std::vector<config::OptionProblem> check_options(const config::Values& values);

// `invalid` says which option is wrong and never quotes a secret.
Result<NatsOptions> read_options(std::string_view sink, const config::Values& values);

}  // namespace outbox::nats
