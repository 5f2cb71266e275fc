#include "embed/call_pool.h"

#include <algorithm>
#include <utility>

#include "embed/translate.h"

namespace outbox {

CallPool::CallPool(std::shared_ptr<MessageSink> sink, int threads) : sink_(std::move(sink)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

CallPool::~CallPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void CallPool::post(CompletionListener& listener, std::span<const Publication> batch) {
  {
    const std::lock_guard lock(mutex_);
    for (const Publication& each : batch) jobs_.push_back({&listener, each});
  }
  changed_.notify_all();
}

void CallPool::take_back(CompletionListener& listener, const Outcome& outcome) {
  std::vector<Completion> completions;
  {
    std::unique_lock lock(mutex_);
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      const auto here = job++;
      if (here->listener != &listener || here->state == Job::State::reporting) continue;
      completions.push_back({here->publication.id, outcome});
      if (here->state == Job::State::running) {
        abandoned_.splice(abandoned_.end(), jobs_, here);
      } else {
        jobs_.erase(here);
      }
    }
    changed_.wait(lock, [&] {
      return std::none_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.listener == &listener; });
    });
  }
  if (!completions.empty()) listener.completed(std::move(completions));
}

void CallPool::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto job = jobs_.end();
    changed_.wait(lock, stop, [&] { return (job = next()) != jobs_.end(); });
    if (stop.stop_requested()) return;
    call(job, lock);
  }
}

// The first whose key nobody is at work on.
CallPool::Jobs::iterator CallPool::next() {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.state == Job::State::queued && !running_keys_.contains(job.publication.record->key);
  });
}

void CallPool::call(Jobs::iterator job, std::unique_lock<std::mutex>& lock) {
  const std::string key = job->publication.record->key;
  const Publication publication = job->publication;
  job->state = Job::State::running;
  running_keys_.insert(key);
  lock.unlock();
  Outcome outcome = outcome_of_call(*sink_, publication);
  lock.lock();
  running_keys_.erase(key);
  const bool heard =
      std::none_of(abandoned_.begin(), abandoned_.end(), [&](const Job& each) { return &each == &*job; });
  if (heard) {
    job->state = Job::State::reporting;
    lock.unlock();
    job->listener->completed({{publication.id, std::move(outcome)}});
    lock.lock();
    jobs_.erase(job);
  } else {
    abandoned_.erase(job);
  }
  changed_.notify_all();
}

}  // namespace outbox
