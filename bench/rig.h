// Command line and surroundings of a benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace outbox::bench {

struct Rig {
  std::string json;       // where the figures go; empty: nowhere
  std::int64_t rows = 0;  // 0: the benchmark's own number
  int rounds = 3;
  std::string postgresql;  // URL of a server where databases may be created
  std::string kafka;       // brokers
  std::string rabbitmq;    // URL
  std::string nats;        // URL
  std::string folder;      // for files; on a disk, removed at the end
};

// Runs a benchmark: main() of each program. Exit code 1 and a line on stderr if it throws.
int run_benchmark(int argc, char** argv, const std::function<void(const Rig&)>& benchmark);

// The daemon of this build.
std::string daemon_path();

std::int64_t lines_in(const std::string& file);
void write_text(const std::string& file, const std::string& text);

}  // namespace outbox::bench
