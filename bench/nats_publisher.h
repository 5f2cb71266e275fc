// libnats' own asynchronous JetStream publisher with the headers that the daemon sends, and no bookkeeping.
#pragma once

#include <nats/nats.h>

#include <string>

#include "page_reader.h"

namespace outbox::bench {

class NatsPublisher {
 public:
  // At most `window` messages are unconfirmed.
  NatsPublisher(const std::string& url, std::string subject, int window);
  ~NatsPublisher();
  NatsPublisher(const NatsPublisher&) = delete;
  NatsPublisher& operator=(const NatsPublisher&) = delete;

  void send(const Row& row);  // blocks while the window is full
  void flush();

 private:
  const std::string subject_;
  natsConnection* connection_ = nullptr;
  jsCtx* js_ = nullptr;
};

}  // namespace outbox::bench
