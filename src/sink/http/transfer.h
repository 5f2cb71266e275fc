// Transfer: one request over libcurl, reused for one message after another. Owned by the sink's thread.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "sink/http/http_options.h"
#include "sink/http/url.h"
#include "sink/sink.h"

namespace outbox::http {

class Transfer {
 public:
  // `options` outlives it.
  explicit Transfer(const HttpOptions& options);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Connects to the target and goes away: `delivered`, or why it could not. Blocks, at most for the time-outs. A
  // transfer that has done so is of no other use.
  Outcome connect(const Target& target);

  // Makes it ready to be added to a multi handle. `invalid` if the message's headers cannot go over HTTP.
  Result<void> prepare(const Publication& publication, const Target& target);

  // What came of it, once libcurl is done. Lets go of the record.
  Outcome finish(CURLcode code);

  CURL* handle() const { return easy_.get(); }
  DeliveryId id() const { return id_; }
  const std::string& endpoint() const { return target_.endpoint; }

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  template <class T>
  void set(CURLoption option, T value);
  void set_defaults();
  void set_tls();

  static int before_request(void* self, char*, char*, int, int);
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address);
  static std::size_t read_header(char* bytes, std::size_t, std::size_t size, void* self);
  static std::size_t read_body(char* bytes, std::size_t, std::size_t size, void* self);

  bool may_have_arrived() const;
  Outcome answered() const;
  Outcome failed(CURLcode code) const;
  Outcome could_not_connect(CURLcode code) const;
  std::string detail(std::string_view what) const;

  const HttpOptions& options_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<curl_slist, FreeList> lines_;

  DeliveryId id_ = 0;
  RecordPtr record_;
  Target target_;

  int requests_ = 0;  // how often libcurl was about to send this one
  bool address_refused_ = false;
  int socket_error_ = 0;
  bool cut_ = false;  // we stopped reading: the answer is longer than anybody needs
  std::size_t body_bytes_ = 0;
  std::string body_;  // its start
  std::string retry_after_;
  std::string location_;
};

}  // namespace outbox::http
