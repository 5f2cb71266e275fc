// Table to a RabbitMQ quorum queue: ours, a bare pump (page SELECT, librabbitmq), and a loop of librabbitmq's
// publishing alone, with the same bytes and the same window.
#include <fmt/format.h>

#include <stdexcept>

#include "outbox_database.h"
#include "page_reader.h"
#include "rabbit_publisher.h"
#include "report.h"
#include "support/rabbitmq.h"

namespace outbox::bench {

namespace {

constexpr int kWindow = 1'000;  // the sink's default

class Queue {
 public:
  Queue(const std::string& url, std::string name) : client_(url), name_(std::move(name)) {
    client_.declare_queue(name_, test::QueueType::quorum);
  }
  ~Queue() { client_.delete_queue(name_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  std::int64_t count() { return client_.count(name_); }

 private:
  test::RabbitClient client_;
  std::string name_;
};

void pump(const std::string& database, const std::string& url, const std::string& queue) {
  RabbitPublisher publisher(url, queue, kWindow);
  read_pages(database, [&](const Row& row) { publisher.send(row); });
  publisher.flush();
}

void publish_alone(const std::string& url, const std::string& queue, std::int64_t messages) {
  RabbitPublisher publisher(url, queue, kWindow);
  const std::string payload = "{\"n\":1000001,\"fill\":\"" + std::string(1002, 'x') + "\"}";
  for (std::int64_t i = 0; i < messages; ++i) {
    const std::string id = fmt::format("00000000-0000-4000-8000-{:012}", i);
    const std::string key = std::to_string(i % 10'000);
    publisher.send({id, "order", key, "OrderConfirmed", payload, "{}", 0});
  }
  publisher.flush();
}

void benchmark(const Rig& rig) {
  if (rig.rabbitmq.empty()) throw std::runtime_error("OUTBOX_RABBITMQ is not set: start this through bench/run");
  const std::int64_t rows = rig.rows > 0 ? rig.rows : 100'000;
  OutboxDatabase database(rig, "poll_rabbitmq");
  database.fill(rows, 1024);
  database.rest();
  {
    Queue warm(rig.rabbitmq, "bench-warm");
    measure([&] { publish_alone(rig.rabbitmq, "bench-warm", rows); });
  }
  Report report(
      "poll_rabbitmq",
      fmt::format("{} messages of 1 KB from PostgreSQL to a RabbitMQ quorum queue, {} in flight", rows, kWindow));
  for (int round = 0; round < rig.rounds; ++round) {
    {
      Queue ours(rig.rabbitmq, "bench-ours");
      const std::string configuration =
          database.configuration(rig, fmt::format("type: rabbitmq, url: \"{}\", window: {}", rig.rabbitmq, kWindow),
                                 "exchange: \"\", routing_key: bench-ours");
      database.forget_position();
      const Usage used = measure({daemon_path(), "run", "--once", "--config", configuration});
      report.add("outboxd", ours.count(), used);
    }
    {
      Queue pumped(rig.rabbitmq, "bench-pump");
      const Usage bare = measure([&] { pump(database.url(), rig.rabbitmq, "bench-pump"); });
      report.add("bare pump", pumped.count(), bare);
    }
    Queue published(rig.rabbitmq, "bench-publisher");
    const Usage alone = measure([&] { publish_alone(rig.rabbitmq, "bench-publisher", rows); });
    report.add("librabbitmq's publishing alone", published.count(), alone);
  }
  report.finish(rig, "librabbitmq's publishing alone");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
