// Table to a JetStream stream: ours, a bare pump (page SELECT, libnats), and libnats' own publisher with the same bytes
// and the same window.
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "nats_publisher.h"
#include "outbox_database.h"
#include "page_reader.h"
#include "report.h"
#include "support/nats_stream.h"

namespace outbox::bench {

namespace {

constexpr int kWindow = 4096;  // the sink's default
constexpr std::int64_t kWarmUp = 200'000;

void pump(const std::string& database, const std::string& url, const std::string& subject) {
  NatsPublisher publisher(url, subject, kWindow);
  read_pages(database, [&](const Row& row) { publisher.send(row); });
  publisher.flush();
}

void publish_alone(const std::string& url, const std::string& subject, std::int64_t messages) {
  NatsPublisher publisher(url, subject, kWindow);
  const std::string payload = "{\"n\":1000001,\"fill\":\"" + std::string(1002, 'x') + "\"}";
  for (std::int64_t i = 0; i < messages; ++i) {
    const std::string id = fmt::format("00000000-0000-4000-8000-{:012}", i);
    const std::string key = std::to_string(i % 10'000);
    publisher.send({id, "order", key, "OrderConfirmed", payload, "{}", 0});
  }
  publisher.flush();
}

// A file, as it should be; little is kept, so that the disk is not the benchmark.
test::NatsStream stream_for(const Rig& rig, const std::string& what) {
  return test::NatsStream(rig.nats, what, [](jsStreamConfig& config) { config.MaxBytes = 100'000'000; });
}

// A contestant is this program anew: a forked copy would have libnats, but not its threads.
std::vector<std::string> self(const std::string& part, const std::string& url, const std::string& subject,
                              const std::string& what) {
  return {"/proc/self/exe", part, url, subject, what};
}

int contestant(const std::string& part, const std::string& url, const std::string& subject, const std::string& what) {
  try {
    part == "pump" ? pump(what, url, subject) : publish_alone(url, subject, std::stoll(what));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "poll_nats: {}\n", error.what());
    return 1;
  }
}

std::int64_t taken(test::NatsStream& stream) { return static_cast<std::int64_t>(stream.last_sequence()); }

void benchmark(const Rig& rig) {
  if (rig.nats.empty()) throw std::runtime_error("OUTBOX_NATS is not set: start this through bench/run");
  const std::int64_t rows = rig.rows > 0 ? rig.rows : 500'000;
  OutboxDatabase database(rig, "poll_nats");
  database.fill(rows, 1024);
  database.rest();
  {
    auto stream = stream_for(rig, "bench-warm");
    measure(self("publish", rig.nats, stream.subject(), std::to_string(kWarmUp)));
  }
  Report report("poll_nats", fmt::format("{} messages of 1 KB from PostgreSQL to a JetStream stream", rows));
  for (int round = 0; round < rig.rounds; ++round) {
    auto ours = stream_for(rig, "bench-ours");
    const std::string configuration = database.configuration(
        rig, fmt::format("type: nats, servers: [ \"{}\" ]", rig.nats), "subject: " + ours.subject());
    database.forget_position();
    const Usage used = measure({daemon_path(), "run", "--once", "--config", configuration});
    report.add("outboxd", taken(ours), used);
    auto pumped = stream_for(rig, "bench-pump");
    const Usage bare = measure(self("pump", rig.nats, pumped.subject(), database.url()));
    report.add("bare pump", taken(pumped), bare);
    auto published = stream_for(rig, "bench-publisher");
    const Usage alone = measure(self("publish", rig.nats, published.subject(), std::to_string(rows)));
    report.add("libnats' publisher alone", taken(published), alone);
  }
  report.finish(rig, "libnats' publisher alone");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) {
  using namespace outbox::bench;
  if (argc == 5 && argv[1][0] != '-') return contestant(argv[1], argv[2], argv[3], argv[4]);
  return run_benchmark(argc, argv, benchmark);
}
