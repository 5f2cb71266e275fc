#include "sink/kafka/reach.h"

#include <fmt/core.h>

#include "sink/kafka/producer.h"

namespace outbox::kafka {
namespace {

constexpr int kPatienceMs = 8'000;

using MetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, Destroyer<rd_kafka_metadata_destroy>>;

// What the client has said of its brokers meanwhile: why none answers.
Failure why_none(Producer& producer, std::string why) {
  FailureKind kind = FailureKind::unavailable;
  while (EventHandle event = producer.poll(std::chrono::milliseconds(0))) {
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ERROR) continue;
    if (rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__AUTHENTICATION) kind = FailureKind::refused;
    why = rd_kafka_event_error_string(event.get());
  }
  return {kind, std::move(why)};
}

}  // namespace

Result<std::string> reach_cluster(const ClientSettings& settings) {
  auto producer = Producer::create(settings, kBatchBytes);
  if (!producer) return producer.failure();
  const rd_kafka_metadata_t* raw = nullptr;
  const auto code = rd_kafka_metadata((*producer)->client(), 0, nullptr, &raw, kPatienceMs);
  const MetadataHandle metadata(raw);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return fmt::format("{} broker{}, reached by {}", metadata->broker_cnt, metadata->broker_cnt == 1 ? "" : "s",
                       settings.brokers);
  }
  Failure failure = why_none(**producer, rd_kafka_err2str(code));
  failure.what = fmt::format("no broker of {} answers: {}", settings.brokers, failure.what);
  return failure;
}

}  // namespace outbox::kafka
