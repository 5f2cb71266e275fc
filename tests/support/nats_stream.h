// A JetStream stream of its own, and what stands in it.
#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outbox::test {

struct NatsMessage {
  std::string subject;
  std::string data;
  std::vector<std::pair<std::string, std::string>> headers;
  std::uint64_t sequence = 0;
  std::int64_t at_ms = 0;  // when the stream took it

  // The first header of that name, or empty.
  std::string header(const std::string& name) const;
};

// Every function throws std::runtime_error with the server's reason. It connects anew where the server was away.
class NatsStream {
 public:
  using Tune = std::function<void(jsStreamConfig&)>;

  // Creates a stream that nobody else has, for subject("…"); `tune` may change all but name and subjects.
  NatsStream(std::string url, const std::string& prefix, const Tune& tune = {});
  ~NatsStream();
  NatsStream(const NatsStream&) = delete;
  NatsStream& operator=(const NatsStream&) = delete;

  const std::string& name() const { return name_; }
  // A subject that this stream takes: "<name>.<rest>".
  std::string subject(const std::string& rest = "x") const { return name_ + "." + rest; }

  void update(const Tune& tune);
  void purge();
  std::vector<NatsMessage> read();  // in the stream's order
  std::uint64_t count();
  std::uint64_t last_sequence();  // how many it has taken, whatever was removed since

 private:
  struct Client;
  Client& client();
  void configure(const Tune& tune, bool exists);

  std::string url_;
  std::string name_;
  std::unique_ptr<Client> client_;
};

}  // namespace outbox::test
