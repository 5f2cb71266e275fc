// A topic of its own on a real Kafka, and what stands in it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outbox::test {

struct KafkaMessage {
  std::optional<std::string> key;
  std::optional<std::string> value;  // absent: a tombstone
  std::vector<std::pair<std::string, std::string>> headers;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::int64_t timestamp_ms = 0;

  // The first header of that name, or empty.
  std::string header(const std::string& name) const;
};

// Every function throws std::runtime_error with Kafka's reason.
void create_topic(const std::string& brokers, const std::string& name, int partitions,
                  const std::map<std::string, std::string>& config = {});
void alter_topic(const std::string& brokers, const std::string& name, const std::map<std::string, std::string>& config);
void delete_topic(const std::string& brokers, const std::string& name);

// What stands in a topic now, up to its high watermarks: by partition, then offset.
std::vector<KafkaMessage> read_topic(const std::string& brokers, const std::string& name);
// Sum of the high watermarks: without transactions and compaction, the number of messages.
std::int64_t count_topic(const std::string& brokers, const std::string& name);

class KafkaTopic {
 public:
  // Creates a topic whose name begins with `prefix` and that nobody else has.
  KafkaTopic(std::string brokers, const std::string& prefix, int partitions = 1,
             const std::map<std::string, std::string>& config = {});
  ~KafkaTopic();
  KafkaTopic(const KafkaTopic&) = delete;
  KafkaTopic& operator=(const KafkaTopic&) = delete;

  const std::string& name() const { return name_; }
  void alter(const std::map<std::string, std::string>& config) { alter_topic(brokers_, name_, config); }
  std::vector<KafkaMessage> read() const { return read_topic(brokers_, name_); }
  std::int64_t count() const { return count_topic(brokers_, name_); }

 private:
  std::string brokers_;
  std::string name_;
};

}  // namespace outbox::test
