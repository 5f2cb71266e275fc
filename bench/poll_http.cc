// Table to an HTTP endpoint on loopback: ours, and a bare pump: page SELECT, curl's multi interface with as many
// requests at once.
#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "http_stub.h"
#include "outbox_database.h"
#include "page_reader.h"
#include "report.h"

namespace outbox::bench {

namespace {

constexpr int kConcurrency = 16;

class Requests {
 public:
  explicit Requests(std::string url) : url_(std::move(url)), multi_(curl_multi_init()) {
    for (Slot& slot : slots_) {
      slot.easy = curl_easy_init();
      curl_easy_setopt(slot.easy, CURLOPT_PRIVATE, &slot);
      idle_.push_back(&slot);
    }
  }
  ~Requests() {
    for (Slot& slot : slots_) {
      curl_slist_free_all(slot.headers);
      curl_easy_cleanup(slot.easy);
    }
    curl_multi_cleanup(multi_);
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  void send(const Row& row) {
    while (idle_.empty()) turn();
    Slot& slot = *idle_.back();
    idle_.pop_back();
    slot.body = row.payload;
    curl_slist_free_all(slot.headers);
    slot.headers = nullptr;
    header(slot, "Idempotency-Key", row.id);
    header(slot, "message-id", row.id);
    header(slot, "message-type", row.type);
    header(slot, "aggregate-type", row.aggregate_type);
    header(slot, "aggregate-id", row.aggregate_id);
    header(slot, "Content-Type", "application/json");
    curl_easy_setopt(slot.easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(slot.easy, CURLOPT_HTTPHEADER, slot.headers);
    curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(slot.body.size()));
    curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDS, slot.body.c_str());
    curl_multi_add_handle(multi_, slot.easy);
  }
  void finish() {
    while (idle_.size() < slots_.size()) turn();
  }

 private:
  struct Slot {
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    std::string body;
  };

  static void header(Slot& slot, std::string_view name, std::string_view value) {
    slot.headers = curl_slist_append(slot.headers, fmt::format("{}: {}", name, value).c_str());
  }

  void turn() {
    int running = 0, queued = 0;
    curl_multi_perform(multi_, &running);
    bool any = false;
    while (CURLMsg* message = curl_multi_info_read(multi_, &queued)) {
      Slot* slot = nullptr;
      long status = 0;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result != CURLE_OK || status != 204) throw std::runtime_error("a request failed");
      curl_multi_remove_handle(multi_, slot->easy);
      idle_.push_back(slot);
      any = true;
    }
    if (!any) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
  }

  const std::string url_;
  CURLM* multi_;
  std::array<Slot, kConcurrency> slots_;
  std::vector<Slot*> idle_;
};

void pump(const std::string& database, const std::string& url) {
  Requests requests(url);
  read_pages(database, [&](const Row& row) { requests.send(row); });
  requests.finish();
}

void benchmark(const Rig& rig) {
  const std::int64_t rows = rig.rows > 0 ? rig.rows : 100'000;
  OutboxDatabase database(rig, "poll_http");
  database.fill(rows, 1024);
  database.rest();
  HttpStub stub;
  const std::string url = fmt::format("http://127.0.0.1:{}/orders", stub.port());
  const std::string configuration =
      database.configuration(rig, fmt::format("type: http, url: \"{}\", concurrency: {}", url, kConcurrency));
  Report report("poll_http", fmt::format("{} messages of 1 KB from PostgreSQL to an HTTP endpoint on loopback, {} "
                                         "requests at once",
                                         rows, kConcurrency));

  for (int round = 0; round < rig.rounds; ++round) {
    database.forget_position();
    std::int64_t before = stub.requests();
    const Usage ours = measure({daemon_path(), "run", "--once", "--config", configuration});
    report.add("outboxd", stub.requests() - before, ours);
    before = stub.requests();
    const Usage bare = measure([&] { pump(database.url(), url); });
    report.add("bare pump", stub.requests() - before, bare);
  }
  report.finish(rig, "bare pump");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
