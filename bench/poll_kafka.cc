// Table to Kafka: ours, a bare pump (page SELECT, librdkafka), and librdkafka's own producer with the same bytes.
#include <fmt/format.h>

#include <stdexcept>

#include "outbox_database.h"
#include "page_reader.h"
#include "producer.h"
#include "report.h"
#include "support/kafka_topic.h"

namespace outbox::bench {

namespace {

constexpr int kPartitions = 8;
constexpr std::int64_t kWarmUp = 1'000'000;
constexpr int kQueueKb = 32 * 1024;

void pump(const std::string& url, const std::string& brokers, const std::string& topic) {
  Producer producer(brokers, topic, kQueueKb);
  int unserved = 0;
  read_pages(url, [&](const Row& row) {
    producer.send(row);
    if (++unserved % 100 == 0) producer.serve();
  });
  producer.flush();
}

void produce_alone(const std::string& brokers, const std::string& topic, std::int64_t messages) {
  Producer producer(brokers, topic, 0);
  const std::string payload = "{\"n\":1000001,\"fill\":\"" + std::string(1002, 'x') + "\"}";
  for (std::int64_t i = 0; i < messages; ++i) {
    const std::string id = fmt::format("00000000-0000-4000-8000-{:012}", i);
    const std::string key = std::to_string(i % 10'000);
    producer.send({id, "order", key, "OrderConfirmed", payload, "{}", 0});
    if (i % 100 == 0) producer.serve();
  }
  producer.flush();
}

void benchmark(const Rig& rig) {
  if (rig.kafka.empty()) throw std::runtime_error("OUTBOX_KAFKA is not set: start this through bench/run");
  const std::int64_t rows = rig.rows > 0 ? rig.rows : 1'000'000;
  OutboxDatabase database(rig, "poll_kafka");
  database.fill(rows, 1024);
  database.rest();
  const auto topic_for = [&](const char* what) {
    // Little is kept, so that the disk is not the benchmark.
    return test::KafkaTopic(rig.kafka, what, kPartitions, {{"retention.bytes", "100000000"}});
  };
  {
    const auto topic = topic_for("bench-warm");
    measure([&] { produce_alone(rig.kafka, topic.name(), kWarmUp); });
  }
  Report report("poll_kafka", fmt::format("{} messages of 1 KB from PostgreSQL to a Kafka topic of {} partitions", rows,
                                          kPartitions));
  for (int round = 0; round < rig.rounds; ++round) {
    const auto ours = topic_for("bench-ours");
    const std::string configuration = database.configuration(
        rig, fmt::format("type: kafka, brokers: [ \"{}\" ]", rig.kafka), "topic: " + ours.name());
    database.forget_position();
    const Usage used = measure({daemon_path(), "run", "--once", "--config", configuration});
    report.add("outboxd", ours.count(), used);
    const auto pumped = topic_for("bench-pump");
    const Usage bare = measure([&] { pump(database.url(), rig.kafka, pumped.name()); });
    report.add("bare pump", pumped.count(), bare);
    const auto produced = topic_for("bench-producer");
    const Usage alone = measure([&] { produce_alone(rig.kafka, produced.name(), rows); });
    report.add("librdkafka's producer alone", produced.count(), alone);
  }
  report.finish(rig, "bare pump");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
