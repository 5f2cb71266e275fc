// librabbitmq as it is: one channel with confirmations, so many messages in flight, each persistent and mandatory.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <string>

#include "page_reader.h"

namespace outbox::bench {

class RabbitPublisher {
 public:
  // Publishes to the default exchange, and so into `queue`. Every failure is a std::runtime_error.
  RabbitPublisher(const std::string& url, std::string queue, int window);
  ~RabbitPublisher();
  RabbitPublisher(const RabbitPublisher&) = delete;
  RabbitPublisher& operator=(const RabbitPublisher&) = delete;

  // Waits while the window is full. With the same properties and headers as the daemon's.
  void send(const Row& row);
  // Waits for the last confirmation.
  void flush();

 private:
  void wait_for_confirmation();

  amqp_connection_state_t state_;
  std::string queue_;
  std::uint64_t window_;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;     // all up to this tag, and
  std::uint64_t out_of_order_ = 0;  // so many behind it
};

}  // namespace outbox::bench
