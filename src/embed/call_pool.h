// CallPool: the threads that call one MessageSink of the user's. All runners of a relay that deliver to the sink share
// it, so that no more calls run at once than the user allowed.
//
// Messages of one key are called one after the other, also where an earlier call was given up and runs on.
//
// Thread: any. The destructor waits for the calls that run.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "outbox/message_sink.h"
#include "sink/sink.h"

namespace outbox {

class CallPool {
 public:
  CallPool(std::shared_ptr<MessageSink> sink, int threads);
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  int threads() const { return static_cast<int>(threads_.size()); }

  // The outcomes go to `listener`, which stays until take_back() has returned.
  void post(CompletionListener& listener, std::span<const Publication> batch);
  // Completes all that has been posted for the listener and is not completed yet: what waits is not called any more,
  // and what a call that runs returns is not heard. Nothing is completed twice.
  void take_back(CompletionListener& listener, const Outcome& outcome);

 private:
  struct Job {
    CompletionListener* listener;
    Publication publication;
    enum class State { queued, running, reporting } state = State::queued;
  };
  using Jobs = std::list<Job>;

  void run(const std::stop_token& stop);
  Jobs::iterator next();
  void call(Jobs::iterator job, std::unique_lock<std::mutex>& lock);

  const std::shared_ptr<MessageSink> sink_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  Jobs jobs_;       // in the order in which they came
  Jobs abandoned_;  // taken back while their call ran
  std::set<std::string> running_keys_;
  std::vector<std::jthread> threads_;  // last: they are stopped and joined before the rest goes
};

}  // namespace outbox
