#include "nats_publisher.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace outbox::bench {

namespace {

constexpr int kPatienceMs = 120'000;

void check(natsStatus status) {
  if (status != NATS_OK) throw std::runtime_error(std::string("nats: ") + natsStatus_GetText(status));
}

// Called from C: nothing may be thrown.
void on_answer(jsCtx*, natsMsg* message, jsPubAck* confirmed, jsPubAckErr*, void*) {
  natsMsg_Destroy(message);
  if (confirmed != nullptr) return;
  std::fprintf(stderr, "bench: a message failed\n");
  std::abort();
}

}  // namespace

NatsPublisher::NatsPublisher(const std::string& url, std::string subject, int window) : subject_(std::move(subject)) {
  check(natsConnection_ConnectTo(&connection_, url.c_str()));
  jsOptions options;
  check(jsOptions_Init(&options));
  options.PublishAsync.MaxPending = window;
  options.PublishAsync.StallWait = kPatienceMs;
  options.PublishAsync.AckHandler = on_answer;
  check(natsConnection_JetStream(&js_, connection_, &options));
}

NatsPublisher::~NatsPublisher() {
  jsCtx_Destroy(js_);
  natsConnection_Destroy(connection_);
}

void NatsPublisher::send(const Row& row) {
  natsMsg* message = nullptr;
  check(natsMsg_Create(&message, subject_.c_str(), nullptr, row.payload.data(), static_cast<int>(row.payload.size())));
  const std::string id(row.id);
  check(natsMsgHeader_Add(message, "Nats-Msg-Id", id.c_str()));
  check(natsMsgHeader_Add(message, "message-id", id.c_str()));
  check(natsMsgHeader_Add(message, "message-type", std::string(row.type).c_str()));
  check(natsMsgHeader_Add(message, "aggregate-type", std::string(row.aggregate_type).c_str()));
  check(natsMsgHeader_Add(message, "aggregate-id", std::string(row.aggregate_id).c_str()));
  check(natsMsgHeader_Add(message, "content-type", "application/json"));
  check(js_PublishMsgAsync(js_, &message, nullptr));
}

void NatsPublisher::flush() {
  jsPubOptions options;
  check(jsPubOptions_Init(&options));
  options.MaxWait = kPatienceMs;
  check(js_PublishAsyncComplete(js_, &options));
}

}  // namespace outbox::bench
