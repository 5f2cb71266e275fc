// A shop that tells a partner of its orders, with a relay in its own process and a sink of its own.
//
//   outboxd init --database sqlite:shop.db
//   printf 'ada 20\nbob -5\nada 7\n' | custom_sink sqlite:shop.db partner.txt
//
// Standard input has an order a line: CUSTOMER TOTAL. It runs until SIGTERM or Ctrl-C; kill it as you like, and start
// it again: partner.txt gets every order that was committed.
#include <outbox/relay.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "shop.h"

namespace {

// The partner is a file here. It refuses negative totals.
class Partner : public outbox::MessageSink {
 public:
  explicit Partner(const std::string& path) : file_(path, std::ios::app) {}

  outbox::DeliveryOutcome deliver(const outbox::OutboundMessage& message) override {
    if (message.payload.find("\"total\":-") != std::string::npos) {
      return outbox::DeliveryOutcome::rejected("negative_total", "the partner takes no negative totals");
    }
    file_ << message.id << ' ' << message.aggregate_id << ' ' << message.payload << std::endl;
    if (!file_) {
      file_.clear();
      throw std::runtime_error("the partner's file cannot be written");
    }
    return outbox::DeliveryOutcome::delivered();
  }

 private:
  std::ofstream file_;
};

std::unique_ptr<Shop> open_shop(const std::string& url) {
  const std::string sqlite = "sqlite:";
  if (url.starts_with(sqlite)) return open_sqlite_shop(url.substr(sqlite.size()));
  return open_postgres_shop(url);
}

void run(const std::string& url, const std::string& partner, const sigset_t& ends) {
  const auto shop = open_shop(url);

  outbox::RelayOptions options;
  options.database = url;
  outbox::Relay relay(options);
  outbox::MessageSinkOptions from_first;
  from_first.from_beginning = true;
  relay.add_sink("partner", std::make_shared<Partner>(partner), from_first);
  relay.start();

  Order order;
  while (std::cin >> order.customer >> order.total) {
    shop->place(order);
    relay.poke();
  }

  int signal = 0;
  sigwait(&ends, &signal);
  relay.stop();
  for (const auto& sink : relay.figures().sinks) {
    std::printf("%s: %llu delivered, %llu dead\n", sink.name.c_str(), static_cast<unsigned long long>(sink.delivered),
                static_cast<unsigned long long>(sink.died));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: custom_sink DATABASE-URL PARTNER-FILE");
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are other threads
  run(argv[1], argv[2], ends);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "custom_sink: %s\n", error.what());
  return 1;
}
