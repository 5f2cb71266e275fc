// The figures of one benchmark: a table for people, JSON for whoever compares.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure.h"
#include "rig.h"

namespace outbox::bench {

class Report {
 public:
  Report(std::string name, std::string what);

  // One round of one contestant; `messages` as counted at the far end.
  void add(const std::string& contestant, std::int64_t messages, const Usage& usage);
  // Prints medians over the rounds, each beside the share of `limit`'s rate, and writes the JSON file.
  void finish(const Rig& rig, const std::string& limit) const;

 private:
  struct Round {
    std::int64_t messages;
    Usage usage;
    double rate() const { return static_cast<double>(messages) / usage.seconds; }
    double cpu_per_million() const { return usage.cpu_seconds * 1e6 / static_cast<double>(messages); }
  };
  struct Contestant {
    std::string name;
    std::vector<Round> rounds;
  };
  std::string json() const;
  double rate_of(const std::string& contestant) const;

  std::string name_;
  std::string what_;
  std::vector<Contestant> contestants_;  // in the order of their first round
};

double median(std::vector<double> values);

}  // namespace outbox::bench
