// An endpoint that answers 204 to every POST, keeps connections open and counts. One thread, a process of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "measure.h"

namespace outbox::bench {

class HttpStub {
 public:
  HttpStub();
  ~HttpStub();
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;

  int port() const { return port_; }
  std::int64_t requests() const;  // answered so far

 private:
  int listener_;
  int port_;
  std::int64_t* requests_;  // shared with the child
  std::unique_ptr<Child> child_;
};

}  // namespace outbox::bench
