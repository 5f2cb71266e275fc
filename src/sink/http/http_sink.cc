#include "sink/http/http_sink.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "sink/block_sigpipe.h"
#include "sink/http/dispatcher.h"
#include "sink/http/http_options.h"
#include "sink/http/url.h"

namespace outbox {
namespace {

constexpr auto kReopenPatience = 1s;

Outcome closed() { return unknown("closed", "the sink was closed before the answer came"); }

Result<void> readable(const std::string& sink, const std::string& file) {
  if (file.empty() || ::access(file.c_str(), R_OK) == 0) return {};
  return Failure{FailureKind::local,
                 "sinks." + sink + ".tls: cannot read " + file + ": " + std::generic_category().message(errno)};
}

class HttpSink : public Sink {
 public:
  HttpSink(std::string_view name, http::HttpOptions options)
      : name_(name), options_(std::move(options)), dispatcher_(options_) {}
  ~HttpSink() override { close(); }

  Capabilities capabilities() const override { return {.fields_lead_elsewhere = false}; }

  Result<void> open(CompletionListener& listener) override {
    for (const auto* file : {&options_.ca_file, &options_.certificate_file, &options_.key_file}) {
      if (auto fine = readable(name_, *file); !fine) return fine;
    }
    listener_ = &listener;
    worker_ = std::jthread([this] { run(); });
    return {};
  }

  void publish(std::span<const Publication> batch) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.insert(queue_.end(), batch.begin(), batch.end());
    }
    dispatcher_.wake();
  }

  Result<void> reopen() override {
    std::unique_lock lock(mutex_);
    reopening_ = true;
    dispatcher_.wake();
    if (reopened_.wait_for(lock, kReopenPatience, [&] { return !reopening_; })) return {};
    return Failure{FailureKind::unavailable, "the http client did not come back within a second"};
  }

  void close() override {
    if (!worker_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    dispatcher_.wake();
    worker_.join();
  }

 private:
  void run() {
    block_sigpipe();
    for (;;) {
      std::unique_lock lock(mutex_);
      std::vector<Publication> published = std::exchange(queue_, {});
      const bool stopping = stopping_;
      const bool reopening = reopening_;
      lock.unlock();
      dispatcher_.add(std::move(published));
      if (stopping) return complete(dispatcher_.abandon(closed()));
      if (reopening) {
        complete(dispatcher_.abandon(client_dead("reopened", "the client was rebuilt")));
        lock.lock();
        reopening_ = false;
        lock.unlock();
        reopened_.notify_all();
      }
      complete(dispatcher_.step());
    }
  }

  void complete(std::vector<Completion> completions) {
    if (!completions.empty()) listener_->completed(std::move(completions));
  }

  const std::string name_;  // in the configuration, for messages
  const http::HttpOptions options_;
  http::Dispatcher dispatcher_;
  CompletionListener* listener_ = nullptr;

  std::mutex mutex_;
  std::condition_variable reopened_;
  std::vector<Publication> queue_;
  bool reopening_ = false;
  bool stopping_ = false;
  std::jthread worker_;
};

Result<http::HttpOptions> read_options(const config::Values& values) {
  // Once per process, before any other thread uses libcurl; later calls only count.
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kReady != CURLE_OK) return Failure{FailureKind::local, "libcurl cannot be initialised on this machine"};
  return http::read_options(values);
}

Result<std::unique_ptr<Sink>> create(std::string_view name, const config::Values& values) {
  auto options = read_options(values);
  if (!options) return options.failure();
  return std::unique_ptr<Sink>(std::make_unique<HttpSink>(name, *std::move(options)));
}

// The sink's own address only: no route's.
Result<std::string> reach(std::string_view, const config::Values& values) {
  const auto options = read_options(values);
  if (!options) return options.failure();
  const auto target = http::parse_url(values.text("url"));  // {fields} stand behind the host
  if (!target) return target.failure();
  const Outcome outcome = http::Transfer(*options).connect(*target);
  if (outcome.verdict == Verdict::delivered) return "connected to " + outcome.detail;
  return Failure{FailureKind::unavailable, outcome.detail};
}

}  // namespace

SinkType http_sink() {
  return {.name = "http",
          .summary = "sends each message as one HTTP request",
          .options = http::option_table(),
          .address_option = "url",
          .default_address = [](const config::Values& options) { return options.text("url"); },
          .create = create,
          .escape_field = http::escape_url_field,
          .check_address = http::check_url_template,
          .check_options = http::check_options,
          .reach = reach};
}

}  // namespace outbox
