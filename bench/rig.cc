#include "rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace outbox::bench {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

Rig read_arguments(int argc, char** argv) {
  Rig rig;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      rig.json = argv[i + 1];
    } else if (flag == "--rows") {
      rig.rows = std::stoll(argv[i + 1]);
    } else if (flag == "--rounds") {
      rig.rounds = std::stoi(argv[i + 1]);
    } else {
      throw std::runtime_error(fmt::format("unknown flag {}; there are --json FILE, --rows N, --rounds N", flag));
    }
  }
  rig.postgresql = environment("OUTBOX_POSTGRESQL");
  rig.kafka = environment("OUTBOX_KAFKA");
  rig.rabbitmq = environment("OUTBOX_RABBITMQ");
  rig.nats = environment("OUTBOX_NATS");
  if (rig.postgresql.empty()) throw std::runtime_error("OUTBOX_POSTGRESQL is not set: start this through bench/run");
  return rig;
}

}  // namespace

int run_benchmark(int argc, char** argv, const std::function<void(const Rig&)>& benchmark) {
  try {
    Rig rig = read_arguments(argc, argv);
    std::string folder = "/var/tmp/outbox-bench-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder can be made below /var/tmp");
    rig.folder = folder;
    try {
      benchmark(rig);
    } catch (...) {
      std::filesystem::remove_all(folder);
      throw;
    }
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", argv[0], error.what());
    return 1;
  }
}

std::string daemon_path() { return OUTBOX_DAEMON; }

std::int64_t lines_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 1 << 16> block{};
  std::int64_t lines = 0;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    lines += std::count(block.begin(), block.begin() + in.gcount(), '\n');
  }
  return lines;
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace outbox::bench
