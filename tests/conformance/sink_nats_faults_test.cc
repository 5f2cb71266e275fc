// What the NATS sink makes of every kind of failure, on real servers.
#include <algorithm>
#include <set>

#include "conformance/sink_nats_fixture.h"
#include "conformance/sink_pump.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class NatsFaults : public NatsSinkTest {};

TEST_F(NatsFaults, WhatStandsInTheStream) {
  serve();
  const auto stream = make_stream();
  open();
  Record record = make_record(1, "k-1", R"({"n": 1.0})");
  record.headers = R"({"tenant":"acme"})";
  const Outcome outcome = send(record, stream->subject("order.Placed"));
  EXPECT_EQ(words(outcome), "delivered");
  EXPECT_EQ(outcome.detail, stream->name() + "/1");
  const auto messages = stream->read();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].subject, stream->subject("order.Placed"));
  EXPECT_EQ(messages[0].data, R"({"n": 1.0})");
  for (const auto& [name, value] : std::map<std::string, std::string>{{"Nats-Msg-Id", "m-1"},
                                                                      {"message-id", "m-1"},
                                                                      {"message-type", "Placed"},
                                                                      {"aggregate-type", "order"},
                                                                      {"aggregate-id", "k-1"},
                                                                      {"content-type", "application/json"},
                                                                      {"tenant", "acme"}}) {
    EXPECT_EQ(messages[0].header(name), value) << name;
  }
}

TEST_F(NatsFaults, EmptyAndBinaryPayloadsComeAsTheyAre) {
  serve();
  const auto stream = make_stream();
  open();
  const std::string bytes("\0\r\n\xff", 4);
  EXPECT_EQ(words(send(make_record(1, "a", ""), stream->subject())), "delivered");
  EXPECT_EQ(words(send(make_record(2, "a", bytes), stream->subject())), "delivered");
  const auto messages = stream->read();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].data, "");
  EXPECT_EQ(messages[1].data, bytes);
}

// Case B147.
TEST_F(NatsFaults, WithoutAStreamMessagesWait) {
  serve();
  open();
  const Outcome outcome = send(make_record(1, "a"), "orders.x");
  EXPECT_EQ(words(outcome), "busy destination no_stream");
  EXPECT_NE(outcome.detail.find("no stream takes this subject"), std::string::npos) << outcome.detail;
  const auto stream = make_stream();
  EXPECT_EQ(words(send(make_record(1, "a"), stream->subject())), "delivered");
  EXPECT_EQ(stream->count(), 1u);
}

TEST_F(NatsFaults, AFullStreamWaitsAndHoldsNobody) {
  serve();
  const auto full = make_stream([](jsStreamConfig& config) {
    config.MaxMsgs = 2;
    config.Discard = js_DiscardNew;
  });
  const auto other = make_stream();
  open();
  EXPECT_EQ(words(send(make_record(1, "a"), full->subject())), "delivered");
  EXPECT_EQ(words(send(make_record(2, "a"), full->subject())), "delivered");
  EXPECT_EQ(words(send(make_record(3, "a"), full->subject())), "busy destination stream_full");
  EXPECT_EQ(words(send(make_record(4, "b"), other->subject())), "delivered");
  full->purge();
  EXPECT_EQ(words(send(make_record(3, "a"), full->subject())), "delivered");
}

TEST_F(NatsFaults, AStreamFullByBytesOrSealedWaits) {
  serve();
  const auto small = make_stream([](jsStreamConfig& config) {
    config.MaxBytes = 2000;
    config.Discard = js_DiscardNew;
  });
  const auto sealed = make_stream();
  sealed->update([](jsStreamConfig& config) { config.Sealed = true; });
  open();
  EXPECT_EQ(words(send(make_record(1, "a", std::string(3000, 'x')), small->subject())), "busy destination stream_full");
  EXPECT_EQ(words(send(make_record(2, "a"), sealed->subject())), "busy destination stream_sealed");
}

// Case B149.
TEST_F(NatsFaults, ARepeatIsDroppedByTheStreamAndCountsAsDelivered) {
  serve();
  const auto stream = make_stream();
  open();
  const Outcome first = send(make_record(1, "a"), stream->subject());
  const Outcome second = send(make_record(1, "a"), stream->subject());
  EXPECT_EQ(words(first), "delivered");
  EXPECT_EQ(first.reason, "");
  EXPECT_EQ(words(second), "delivered");
  EXPECT_EQ(second.reason, "duplicate");
  EXPECT_EQ(second.detail, first.detail);
  EXPECT_EQ(stream->count(), 1u);
}

TEST_F(NatsFaults, WhatIsTooLargeForServerOrStreamIsRefusedAlone) {
  serve("max_payload: 20000");
  const auto stream = make_stream([](jsStreamConfig& config) { config.MaxMsgSize = 10'000; });
  open();
  const Outcome server = send(make_record(1, "a", std::string(20'001, 'x')), stream->subject());
  EXPECT_EQ(words(server), "rejected too_large");
  EXPECT_NE(server.detail.find("20000 bytes"), std::string::npos) << server.detail;
  const Outcome headers = send(make_record(2, "a", std::string(19'999, 'x')), stream->subject());
  EXPECT_EQ(words(headers), "rejected too_large") << "the headers count, too";
  const Outcome refused = send(make_record(3, "a", std::string(15'000, 'x')), stream->subject());
  EXPECT_EQ(words(refused), "rejected too_large");
  EXPECT_NE(refused.detail.find("10054"), std::string::npos) << refused.detail;
  EXPECT_EQ(words(send(make_record(4, "a", std::string(5'000, 'x')), stream->subject())), "delivered");
  EXPECT_EQ(stream->count(), 1u);
}

// Case B145; and what no NATS message can be.
TEST_F(NatsFaults, WhatCanNeverBeSentIsRejectedAtOnce) {
  serve();
  const auto stream = make_stream();
  const auto victim = make_stream();
  open();
  for (const std::string subject : {"a b", "a..b", "a.*", "a.>", ".a", "$JS.API.STREAM.DELETE."}) {
    EXPECT_EQ(words(send(make_record(1, "a"), subject + (subject[0] == '$' ? victim->name() : ""))),
              "rejected invalid_subject")
        << subject;
  }
  EXPECT_EQ(words(send(make_record(1, "a"), "a\r\nPUB " + victim->subject() + " 0")), "rejected invalid_subject");
  Record null = make_record(2, "a");
  null.payload_null = true;
  EXPECT_EQ(words(send(null, stream->subject())), "rejected null_payload");
  Record headers = make_record(3, "a");
  headers.headers = R"({"x":"1\r\nNats-Rollup: all"})";
  EXPECT_EQ(words(send(headers, stream->subject())), "rejected bad_headers");
  EXPECT_EQ(words(send(make_record(4, "a"), stream->subject())), "delivered");
  EXPECT_EQ(ids_of(stream->read()), Names{"m-4"});
  EXPECT_EQ(victim->count(), 0u);
}

// First arrivals of each key, as the message's ids.
std::map<std::string, Names> first_arrivals(const std::vector<NatsMessage>& messages) {
  std::map<std::string, Names> keys;
  std::set<std::string> seen;
  for (const NatsMessage& message : messages) {
    const std::string id = message.header("message-id");
    if (seen.insert(id).second) keys[message.header("aggregate-id")].push_back(id);
  }
  return keys;
}

// kill -9 under load, three times at other moments.
TEST_F(NatsFaults, KilledUnderLoadItLosesNothingAndKeepsTheOrderOfEachKey) {
  constexpr int kMessages = 20'000;
  serve();
  const auto stream = make_stream();
  open();
  sink_->close();
  SinkPump pump(*sink_, stream->subject());
  ASSERT_TRUE(sink_->open(pump));
  std::map<std::string, Names> expected;
  for (int i = 0; i < kMessages; ++i) {
    const std::string key = "key-" + std::to_string(i % 100);
    expected[key].push_back("m-" + std::to_string(i));
    pump.add(std::make_shared<const Record>(make_record(i, key, std::string(300, 'x'))));
  }
  int kills = 0;
  ASSERT_TRUE(pump.run(300s, [&](std::size_t done) {
    if (kills == 3 || done < static_cast<std::size_t>((kills + 1) * kMessages / 5)) return;
    server_->kill();
    server_->start();
    ++kills;
  }));
  EXPECT_EQ(kills, 3);
  EXPECT_EQ(pump.delivered(), static_cast<std::size_t>(kMessages));
  EXPECT_TRUE(pump.violations().empty()) << pump.violations().front();
  for (const Outcome& outcome : pump.failures()) EXPECT_TRUE(words(outcome).starts_with("busy sink")) << words(outcome);
  EXPECT_EQ(first_arrivals(stream->read()), expected);
}

TEST_F(NatsFaults, AServerThatSaysNothingIsDown) {
  serve();
  const auto stream = make_stream();
  open({{"timeout.confirm", "300ms"}, {"timeout.connect", "200ms"}});
  EXPECT_EQ(words(send(make_record(1, "a"), stream->subject())), "delivered");
  server_->pause();
  const DeliveryId first = publish(make_record(2, "a"), stream->subject());
  const DeliveryId second = publish(make_record(3, "b"), stream->subject());
  EXPECT_EQ(words(log_.wait_for(first)), "busy sink no_confirmation");
  EXPECT_EQ(words(log_.wait_for(second)), "busy sink no_confirmation");
  EXPECT_EQ(words(send(make_record(2, "a"), stream->subject())), "busy sink unreachable") << "it takes connections";
  server_->resume();
  EXPECT_EQ(words(send(make_record(2, "a"), stream->subject())), "delivered");
  EXPECT_EQ(words(send(make_record(3, "b"), stream->subject())), "delivered");
}

// More than any socket takes: what was given back and not written is never sent.
TEST_F(NatsFaults, ClosesWhileTheServerTakesNothingAndSendsNothingAfterwards) {
  constexpr int kMessages = 60;
  serve();
  const auto stream = make_stream();
  open();
  EXPECT_EQ(words(send(make_record(0, "a"), stream->subject())), "delivered");
  server_->pause();
  std::vector<DeliveryId> ids;
  for (int i = 1; i <= kMessages; ++i) {
    ids.push_back(publish(make_record(i, std::to_string(i), std::string(900'000, 'x')), stream->subject()));
  }
  sink_->close();
  for (const DeliveryId id : ids) EXPECT_EQ(words(log_.wait_for(id, 0ms)), "unknown closed");
  server_->resume();
  const auto arrived = ids_of(stream->read());
  EXPECT_LT(arrived.size(), static_cast<std::size_t>(kMessages / 2));
  EXPECT_EQ(ids_of(stream->read()), arrived);
}

TEST_F(NatsFaults, ClosesWhileItConnects) {
  serve();
  server_->pause();
  open({{"timeout.connect", "1s"}});
  const DeliveryId id = publish(make_record(1, "a"), "orders.x");
  EXPECT_EQ(log_.wait_for(id, 100ms).reason, "no outcome");
  sink_->close();
  EXPECT_EQ(words(log_.wait_for(id, 0ms)), "unknown closed");
}

TEST_F(NatsFaults, ReopensWhileItConnects) {
  serve();
  const auto stream = make_stream();
  server_->pause();
  open({{"timeout.connect", "2s"}});
  const DeliveryId id = publish(make_record(1, "a"), stream->subject());
  EXPECT_EQ(log_.wait_for(id, 100ms).reason, "no outcome");
  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(words(log_.wait_for(id, 0ms)), "client_dead reopened");
  server_->resume();
  while (words(send(make_record(1, "a"), stream->subject())) != "delivered") {
  }
}

// A subject that somebody listens to who never answers: no stream, and no "no responders" either.
TEST_F(NatsFaults, OneMessageWithoutAConfirmationIsJudgedByTheRelay) {
  serve();
  const auto stream = make_stream();
  natsConnection* listener = nullptr;
  natsSubscription* subscription = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&listener, server_->url().c_str()), NATS_OK);
  ASSERT_EQ(natsConnection_SubscribeSync(&subscription, listener, "mute"), NATS_OK);
  ASSERT_EQ(natsConnection_Flush(listener), NATS_OK);
  open({{"timeout.confirm", "500ms"}});
  const DeliveryId mute = publish(make_record(1, "a"), "mute");
  for (int i = 2; !log_.outcome(mute); ++i) {
    EXPECT_EQ(words(send(make_record(i, "b"), stream->subject())), "delivered");
  }
  EXPECT_EQ(words(log_.wait_for(mute)), "unknown timeout");
  natsSubscription_Destroy(subscription);
  natsConnection_Destroy(listener);
}

TEST_F(NatsFaults, ALineThatTheServerDoesNotTakeCostsTheClientAndIsFoundAlone) {
  serve("max_control_line: 512");
  const auto stream = make_stream();
  open();
  const std::string long_subject = stream->subject(std::string(600, 'x'));
  EXPECT_EQ(words(send(make_record(1, "a"), long_subject)), "client_dead protocol_error");
  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(words(send(make_record(2, "b"), stream->subject())), "delivered");
}

}  // namespace
}  // namespace outbox::test
