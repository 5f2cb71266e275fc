// An HTTP endpoint of this process as a far end. What it answers by 200 has arrived.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "fault/far_end.h"
#include "support/http_stub.h"

namespace outbox::test {

class HttpEnd : public FarEnd {
 public:
  HttpEnd();

  std::string sink(int port) const override;
  std::string route() const override { return ""; }
  int port() const override { return stub_.port(); }

  std::int64_t count() override;
  std::vector<Arrival> arrivals() override;

  // It listens no more; and again.
  void kill() override { stub_.go_down(); }
  void start() override { stub_.come_up(); }
  // It takes requests and answers none.
  void pause() override;
  void resume() override;

  // It answers 500 where this says so of a message id; before anything is sent.
  void fail_where(std::function<bool(const std::string&)> fails) { fails_ = std::move(fails); }

 private:
  StubReply answer(const StubRequest& request);

  std::function<bool(const std::string&)> fails_;
  std::atomic<bool> paused_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Arrival> arrivals_;

  HttpStub stub_;  // last: its threads use the others
};

}  // namespace outbox::test
