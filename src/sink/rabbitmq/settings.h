// The settings of a RabbitMQ sink.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/options.h"

namespace outbox::rabbitmq {

struct Settings {
  std::string sink;  // its name in the configuration, for messages
  std::string host;
  int port = 5672;
  bool tls = false;
  std::string vhost;
  std::string user;
  std::string password;
  std::string ca_file;  // empty: the system's authorities
  std::string certificate_file;
  std::string key_file;
  bool verify = true;
  std::size_t window = 1000;
  std::size_t payload_max = 16u << 20;
  std::chrono::seconds heartbeat{10};
  std::chrono::milliseconds connect_timeout{5'000};

  std::string endpoint() const { return host + ":" + std::to_string(port); }
};

// How long the sink bears with a broker that does not do its part; tests have less of it.
struct Patience {
  std::chrono::milliseconds write{5'000};     // it takes no bytes: the connection is given up
  std::chrono::milliseconds blocked{1'000};   // it says that it takes no messages: they are given back
  std::chrono::milliseconds confirm{30'000};  // it does not confirm a message: that is given back
  std::chrono::milliseconds settle{1'000};    // the connection failed: no other one before
};

config::OptionTable rabbitmq_options();

// See SinkType::check_options. No problem shows the URL: it may hold a password.
std::vector<config::OptionProblem> check_options(const config::Values& options);
Result<Settings> read_settings(std::string_view sink, const config::Values& options);

}  // namespace outbox::rabbitmq
