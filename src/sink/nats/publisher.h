// Publisher: the Sink over a Connection. Many messages are in flight, each with a reply subject of its own, to which
// the stream answers when it has stored the message.
//
// One message of a key is in flight at a time (Capabilities::pipelines_key is false). A connection keeps order, but a
// stream judges each message by itself: it may refuse the first of two (full, until a consumer makes room; no leader;
// no stream yet) and store the second, and nothing that a publisher can demand of the server prevents it where others
// write to the same stream (Nats-Expected-Last-Msg-Id holds for the stream's last message, whoever sent it). With one
// in flight the second is sent when the first is confirmed or dead. A confirmation that is lost makes the first go
// again: inside the stream's duplicate window the server drops the repeat and says so, which counts as delivered; after
// it the repeat is stored, behind whatever came between. Both are duplicates, never an inversion: the second of a key
// goes only after the first was confirmed once. What an old connection left in the server's hands may be stored later
// than what a new one sends, but it is a repeat as well, since the new one began with the same message.
//
// A connection is made when there is something to send. While none can be made, everything comes back busy(sink); the
// relay's breaker says when to try again, and each try is one attempt at each server.
//
// Threads: the relay's calls the Sink's functions; an own one does everything else. One mutex guards what they share;
// nothing under it blocks, and the listener is called without it. Connecting is the only thing that blocks the own
// thread: close() and reopen() then give back what is held themselves, and leave the rest to it; the destructor waits
// for it, for at most connect_timeout for each server, and for name resolution.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sink/nats/connection.h"
#include "sink/nats/mailbox.h"
#include "sink/nats/nats_options.h"
#include "sink/nats/unconfirmed.h"
#include "sink/sink.h"

namespace outbox::nats {

class Publisher final : public Sink {
 public:
  explicit Publisher(NatsOptions options) : options_(std::move(options)) {}
  ~Publisher() override;

  Capabilities capabilities() const override;
  Result<void> open(CompletionListener& listener) override;
  void publish(std::span<const Publication> batch) override;
  Result<void> reopen() override;
  void close() override;

 private:
  void run();
  bool closing();
  void serve_reopen();
  void await_work();
  void connect();
  void send_what_fits();
  std::chrono::milliseconds silence_patience();
  void take_mail();
  void report_duplicate(const Answer& answer);
  void deny(const std::string& server_error);
  void check_connection();
  void check_silence();
  void give_up(const Outcome& outcome);  // the connection is gone before anything is reported
  std::size_t give_back_all(const Outcome& outcome);
  void report(std::vector<Completion> completions);
  void hand_over(const std::vector<DeliveryId>& ids, const Outcome& outcome);

  const NatsOptions options_;
  CompletionListener* listener_ = nullptr;
  Bell bell_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Unconfirmed held_;
  bool connecting_ = false;
  bool reopening_ = false;
  bool closing_ = false;
  bool ended_ = false;          // the own thread has nothing left to do
  Connection* live_ = nullptr;  // connection_, for interrupt()

  // Own thread.
  std::unique_ptr<Connection> connection_;
  std::size_t next_server_ = 0;
  Clock::time_point answered_at_{};
  bool down_ = false;  // and said so

  std::jthread thread_;
};

}  // namespace outbox::nats
