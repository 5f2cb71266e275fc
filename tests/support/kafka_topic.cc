#include "support/kafka_topic.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace outbox::test {
namespace {

constexpr int kTimeoutMs = 20'000;

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
template <class T, auto Destroy>
using Owner = std::unique_ptr<T, Destroyer<Destroy>>;

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw std::runtime_error("kafka: " + what + ": " + why);
}

void check(const std::string& what, rd_kafka_resp_err_t error) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail(what, rd_kafka_err2str(error));
}

using Client = Owner<rd_kafka_t, rd_kafka_destroy>;

Client make_client(rd_kafka_type_t type, const std::string& brokers) {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), error, sizeof error);
  rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
  if (type == RD_KAFKA_CONSUMER) {
    rd_kafka_conf_set(conf, "group.id", "outbox-test", error, sizeof error);
    rd_kafka_conf_set(conf, "enable.auto.commit", "false", error, sizeof error);
    rd_kafka_conf_set(conf, "fetch.wait.max.ms", "20", error, sizeof error);
  }
  Client client(rd_kafka_new(type, conf, error, sizeof error));
  if (!client) fail("client", error);
  if (type == RD_KAFKA_CONSUMER) rd_kafka_poll_set_consumer(client.get());
  return client;
}

std::vector<int> partitions_of(rd_kafka_t* client, const std::string& name) {
  Owner<rd_kafka_topic_t, rd_kafka_topic_destroy> topic(rd_kafka_topic_new(client, name.c_str(), nullptr));
  const rd_kafka_metadata_t* raw = nullptr;
  check("metadata of " + name, rd_kafka_metadata(client, 0, topic.get(), &raw, kTimeoutMs));
  Owner<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata(raw);
  if (metadata->topic_cnt != 1) fail("metadata of " + name, "no answer");
  check("topic " + name, metadata->topics[0].err);
  std::vector<int> partitions;
  for (int i = 0; i < metadata->topics[0].partition_cnt; ++i)
    partitions.push_back(metadata->topics[0].partitions[i].id);
  return partitions;
}

// The broker answers a moment after the controller has made a topic.
void await_topic(const std::string& brokers, const std::string& name) {
  Client client = make_client(RD_KAFKA_PRODUCER, brokers);
  Owner<rd_kafka_topic_t, rd_kafka_topic_destroy> topic(rd_kafka_topic_new(client.get(), name.c_str(), nullptr));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  for (;;) {
    const rd_kafka_metadata_t* raw = nullptr;
    check("metadata of " + name, rd_kafka_metadata(client.get(), 0, topic.get(), &raw, kTimeoutMs));
    Owner<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata(raw);
    if (metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    if (std::chrono::steady_clock::now() > deadline) fail("topic " + name, "it does not come into being");
    rd_kafka_poll(client.get(), 50);
  }
}

std::int64_t end_of(rd_kafka_t* client, const std::string& name, int partition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  for (;;) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const auto error = rd_kafka_query_watermark_offsets(client, name.c_str(), partition, &low, &high, kTimeoutMs);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return high;
    if (std::chrono::steady_clock::now() > deadline) check("end of " + name, error);
    rd_kafka_poll(client, 50);
  }
}

std::optional<std::string> bytes(const void* data, std::size_t size) {
  if (!data) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

KafkaMessage to_message(const rd_kafka_message_t& from) {
  KafkaMessage message;
  message.key = bytes(from.key, from.key_len);
  message.value = bytes(from.payload, from.len);
  message.partition = from.partition;
  message.offset = from.offset;
  rd_kafka_timestamp_type_t type{};
  message.timestamp_ms = rd_kafka_message_timestamp(&from, &type);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&from, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return message;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    message.headers.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
  return message;
}

void read_partition(rd_kafka_t* client, const std::string& name, int partition, std::vector<KafkaMessage>& messages) {
  const std::int64_t end = end_of(client, name, partition);
  if (end == 0) return;
  Owner<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy> list(
      rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), name.c_str(), partition)->offset = 0;
  check("assign " + name, rd_kafka_assign(client, list.get()));
  for (std::int64_t next = 0; next < end;) {
    Owner<rd_kafka_message_t, rd_kafka_message_destroy> message(rd_kafka_consumer_poll(client, kTimeoutMs));
    if (!message) fail("read " + name, "nothing comes at offset " + std::to_string(next));
    check("read " + name, message->err);
    next = message->offset + 1;
    messages.push_back(to_message(*message));
  }
}

// Runs one admin call; throws if it fails, or if `problem` finds something in the answer.
template <class Call, class Problem>
void administrate(const std::string& what, const std::string& brokers, rd_kafka_admin_op_t operation, Call call,
                  Problem problem) {
  Client client = make_client(RD_KAFKA_PRODUCER, brokers);
  Owner<rd_kafka_queue_t, rd_kafka_queue_destroy> queue(rd_kafka_queue_new(client.get()));
  Owner<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client.get(), operation));
  char error[256];
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), kTimeoutMs, error, sizeof error);
  call(client.get(), options.get(), queue.get());
  Owner<rd_kafka_event_t, rd_kafka_event_destroy> event(rd_kafka_queue_poll(queue.get(), 2 * kTimeoutMs));
  if (!event) fail(what, "no answer");
  check(what, rd_kafka_event_error(event.get()));
  if (const char* why = problem(event.get())) fail(what, why);
}

const char* first_problem(const rd_kafka_topic_result_t** answers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (rd_kafka_topic_result_error(answers[i])) return rd_kafka_topic_result_error_string(answers[i]);
  }
  return nullptr;
}

std::string unique_name(const std::string& prefix) {
  static std::atomic<int> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return prefix + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(now / std::chrono::milliseconds(1) % 100'000'000) + "-" + std::to_string(++count);
}

}  // namespace

std::string KafkaMessage::header(const std::string& name) const {
  for (const auto& [each, text] : headers) {
    if (each == name) return text;
  }
  return {};
}

void create_topic(const std::string& brokers, const std::string& name, int partitions,
                  const std::map<std::string, std::string>& config) {
  char error[256];
  Owner<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, 1, error, sizeof error));
  if (!topic) fail("topic " + name, error);
  for (const auto& [key, value] : config) rd_kafka_NewTopic_set_config(topic.get(), key.c_str(), value.c_str());
  administrate(
      "create topic " + name, brokers, RD_KAFKA_ADMIN_OP_CREATETOPICS,
      [&](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_NewTopic_t* topics[] = {topic.get()};
        rd_kafka_CreateTopics(client, topics, 1, options, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        auto answers = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        return first_problem(answers, count);
      });
  await_topic(brokers, name);
}

void alter_topic(const std::string& brokers, const std::string& name,
                 const std::map<std::string, std::string>& config) {
  Owner<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy> resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name.c_str()));
  for (const auto& [key, value] : config) {
    rd_kafka_ConfigResource_set_config(resource.get(), key.c_str(), value.c_str());
  }
  administrate(
      "alter topic " + name, brokers, RD_KAFKA_ADMIN_OP_ALTERCONFIGS,
      [&](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_ConfigResource_t* resources[] = {resource.get()};
        rd_kafka_AlterConfigs(client, resources, 1, options, queue);
      },
      [](rd_kafka_event_t* event) -> const char* {
        std::size_t count = 0;
        auto answers = rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count);
        const bool failed = count != 1 || rd_kafka_ConfigResource_error(answers[0]) != RD_KAFKA_RESP_ERR_NO_ERROR;
        return failed ? "refused" : nullptr;
      });
}

void delete_topic(const std::string& brokers, const std::string& name) {
  Owner<rd_kafka_DeleteTopic_t, rd_kafka_DeleteTopic_destroy> topic(rd_kafka_DeleteTopic_new(name.c_str()));
  administrate(
      "delete topic " + name, brokers, RD_KAFKA_ADMIN_OP_DELETETOPICS,
      [&](rd_kafka_t* client, rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_DeleteTopic_t* topics[] = {topic.get()};
        rd_kafka_DeleteTopics(client, topics, 1, options, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        auto answers = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
        return first_problem(answers, count);
      });
}

std::vector<KafkaMessage> read_topic(const std::string& brokers, const std::string& name) {
  Client client = make_client(RD_KAFKA_CONSUMER, brokers);
  std::vector<KafkaMessage> messages;
  for (int partition : partitions_of(client.get(), name)) read_partition(client.get(), name, partition, messages);
  return messages;
}

std::int64_t count_topic(const std::string& brokers, const std::string& name) {
  Client client = make_client(RD_KAFKA_CONSUMER, brokers);
  std::int64_t count = 0;
  for (int partition : partitions_of(client.get(), name)) count += end_of(client.get(), name, partition);
  return count;
}

KafkaTopic::KafkaTopic(std::string brokers, const std::string& prefix, int partitions,
                       const std::map<std::string, std::string>& config)
    : brokers_(std::move(brokers)), name_(unique_name(prefix)) {
  create_topic(brokers_, name_, partitions, config);
}

KafkaTopic::~KafkaTopic() {
  try {
    delete_topic(brokers_, name_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());  // a broker that a test has killed: the topic goes with its data
  }
}

}  // namespace outbox::test
