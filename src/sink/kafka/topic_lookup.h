// TopicLookup: asks the cluster about topics before anything is produced to them, on a thread of its own, because
// librdkafka's metadata call blocks. Without it a message for a topic that does not exist would stay in the
// producer's queue for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "sink/kafka/handles.h"
#include "sink/kafka/producer.h"

namespace outbox::kafka {

struct TopicFacts {
  std::string name;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;  // as the cluster answered
  TopicHandle handle;                                      // where there is no error
  std::size_t payload_max = 0;                             // max.message.bytes; 0: not known (no right to ask)
};

class TopicLookup {
 public:
  // Called on the lookup's thread, once per request unless the request was cancelled.
  using Answer = std::function<void(const std::shared_ptr<Producer>&, TopicFacts)>;

  // `patience`: how long a topic may be unknown before that is the answer; brokers that create topics need a moment.
  TopicLookup(Answer answer, std::chrono::milliseconds patience);
  ~TopicLookup();

  void request(std::shared_ptr<Producer> producer, const std::string& topic);

  // Forgets every request; the one being asked may still be answered. The thread lets go of the producer soon.
  void cancel();

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    std::shared_ptr<Producer> producer;
    std::string topic;
    Clock::time_point due;
    Clock::time_point patience_ends{};
  };

  void run(std::stop_token stop);
  std::optional<Request> next(std::stop_token& stop);
  void ask(Request request);
  void again(Request request);

  Answer answer_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Request> requests_;
  std::uint64_t cancelled_ = 0;  // generation of requests_
  std::uint64_t asking_ = 0;     // the generation that the one being asked is of
  std::jthread thread_;
};

}  // namespace outbox::kafka
