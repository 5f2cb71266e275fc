// Exchanges and queues of a test's own on a real RabbitMQ, and what stands in them.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace outbox::test {

struct RabbitMessage {
  std::string exchange;
  std::string routing_key;
  std::string body;
  std::string message_id;
  std::string type;
  std::string content_type;
  int delivery_mode = 0;
  std::uint64_t timestamp = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // an array once per value, as name[]

  // The first header of that name, or empty.
  std::string header(const std::string& name) const;
};

enum class QueueType { classic, quorum };

// Every function throws std::runtime_error with RabbitMQ's reason.
class RabbitClient {
 public:
  explicit RabbitClient(const std::string& url);
  ~RabbitClient();
  RabbitClient(const RabbitClient&) = delete;
  RabbitClient& operator=(const RabbitClient&) = delete;

  void declare_exchange(const std::string& name, const std::string& type = "direct");
  void delete_exchange(const std::string& name);
  // Durable. `max_length` with overflow reject-publish; 0: no limit.
  void declare_queue(const std::string& name, QueueType type, int max_length = 0);
  void delete_queue(const std::string& name);
  void bind(const std::string& queue, const std::string& exchange, const std::string& routing_key);
  std::uint32_t count(const std::string& queue);
  void purge(const std::string& queue);
  // Takes out all there is.
  std::vector<RabbitMessage> take(const std::string& queue);
  // One message, without waiting for a confirmation.
  void publish(const std::string& exchange, const std::string& routing_key, const std::string& body);

 private:
  void check(const std::string& doing) const;

  amqp_connection_state_t state_;
};

}  // namespace outbox::test
