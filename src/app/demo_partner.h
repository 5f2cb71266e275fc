// The demo's partner: the invoicing API of another company, over real HTTP on the loopback interface, with all the
// moods of a real one. Every order that it accepts becomes an invoice, once: it remembers each Idempotency-Key with its
// answer, and a repeat gets that answer and makes no second invoice.
//
// Moods: well; failing (500, nothing done); hanging (the invoice is made and the answer never sent: the caller cannot
// know); down (nobody listens). An order without a vat_id is refused with 422 whenever it comes.
//
// Thread: its own, one; every function may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace outbox::app {

class HttpEndpoint;
struct HttpRequest;

enum class Mood { well, failing, hanging, down };
std::string_view to_string(Mood mood);

struct Turn {
  Mood mood = Mood::well;
  Duration lasts{};
};

class DemoPartner {
 public:
  // Listens on a free port and goes through the turns for ever; without turns it is well until told otherwise. Fails
  // when it cannot listen.
  static Result<std::unique_ptr<DemoPartner>> start(std::vector<Turn> turns = {});
  ~DemoPartner();
  DemoPartner(const DemoPartner&) = delete;
  DemoPartner& operator=(const DemoPartner&) = delete;

  std::string url() const;  // http://127.0.0.1:PORT/invoices

  // Ends the turns. The mood holds for requests that come from now on.
  void stay(Mood mood);
  Mood mood() const { return mood_.load(); }

  struct Counts {
    std::int64_t requests = 0;
    std::int64_t invoices = 0;  // the effects
    std::int64_t repeats = 0;   // answered from memory
    std::int64_t refused = 0;   // distinct orders answered 422
    std::int64_t failed = 0;    // answered 500
    std::int64_t hung = 0;      // never answered
  };
  Counts counts() const;

  struct Arrival {
    std::string key;  // the Idempotency-Key
    std::string body;
  };
  // What was accepted, in order, repeats included.
  std::vector<Arrival> arrivals() const;

 private:
  explicit DemoPartner(std::vector<Turn> turns);
  void work(const std::stop_token& stop);
  void take_turns(Time now);
  void answer(const HttpRequest& request);

  std::unique_ptr<HttpEndpoint> endpoint_;
  const std::vector<Turn> turns_;
  std::atomic<Mood> mood_ = Mood::well;

  mutable std::mutex mutex_;  // of what follows
  std::size_t turn_ = 0;
  Time turn_ends_{};
  bool stays_ = false;
  Counts counts_;
  std::vector<Arrival> arrivals_;
  std::map<std::string, std::string> answers_;  // by Idempotency-Key
  std::set<std::string> refused_;

  std::jthread thread_;
};

}  // namespace outbox::app
