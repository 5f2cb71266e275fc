// Where messages go to: a place of its own on a real broker, or an HTTP endpoint of this process. It takes, it can be
// killed, stopped and started, and it says what has arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace outbox::test {

struct Arrival {
  std::string id;
  std::int64_t at_ms = 0;  // by the broker's clock; RabbitMQ has none: the time of the last count() before it
};

// How often a relay looks whether it is back: at first so long after the last time, then twice as long, up to a cap.
struct Backoff {
  double first_s = 5;
  double cap_s = 60;
};

// One thread. Every function throws std::runtime_error with the broker's reason.
class FarEnd {
 public:
  virtual ~FarEnd() = default;

  // What stands in the configuration's flow maps: "type: kafka, brokers: …" with the broker at this port of 127.0.0.1,
  // and ", topic: …".
  virtual std::string sink(int port) const = 0;
  virtual std::string route() const = 0;

  // As it is without a word in the configuration: the relay's breaker, or the client's own.
  virtual Backoff backoff() const { return {}; }

  virtual int port() const = 0;  // the broker's
  // Through a proxy: where that has to forward to, and its own port; 0: any.
  virtual int target_port() const { return port(); }
  virtual int proxy_port() const { return 0; }

  virtual std::int64_t count() = 0;  // what it has taken, repeats included
  // All of it, each key in its order. At the end: what was counted may be taken out.
  virtual std::vector<Arrival> arrivals() = 0;

  // Faults of the broker itself. kill() and pause() return when it has happened, start() when it answers.
  virtual void kill() = 0;
  virtual void start() = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// kafka, rabbitmq, nats: by OUTBOX_KAFKA and so on; http. Throws std::invalid_argument for another kind.
std::unique_ptr<FarEnd> make_far_end(const std::string& kind);

std::int64_t wall_clock_ms();

}  // namespace outbox::test
