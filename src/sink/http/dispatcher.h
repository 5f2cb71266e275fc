// Dispatcher: the transfers that are under way and the messages that wait for one, per endpoint. A slow endpoint fills
// its own share only. Thread: the sink's; wake() from any.
#pragma once

#include <curl/curl.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sink/http/http_options.h"
#include "sink/http/transfer.h"
#include "sink/sink.h"

namespace outbox::http {

class Dispatcher {
 public:
  // `options` outlives it.
  explicit Dispatcher(const HttpOptions& options);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void add(std::vector<Publication> publications);
  // Blocks until something moved on the network, wake() was called, or a second has passed; returns what is done.
  std::vector<Completion> step();
  // Ends everything with this outcome: running transfers, connections of theirs, and what waits.
  std::vector<Completion> abandon(const Outcome& outcome);
  void wake();

 private:
  struct Endpoint {
    std::deque<std::pair<Publication, Target>> waiting;
    std::size_t running = 0;
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  void start_waiting();
  void start(Endpoint& endpoint);
  void collect();
  void finish(CURL* easy, CURLcode code);
  std::unique_ptr<Transfer> idle_transfer();

  const HttpOptions& options_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::map<std::string, Endpoint, std::less<>> endpoints_;
  std::map<CURL*, std::unique_ptr<Transfer>> running_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::vector<Completion> done_;
};

}  // namespace outbox::http
