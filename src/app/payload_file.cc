#include "app/payload_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace outbox::app {

namespace {

constexpr std::size_t kPayloadMax = 64u << 20;  // of what is read into memory; the library's own limit is lower

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) return Failure{FailureKind::local, name + ": cannot be read"};
  if (bytes.size() > kPayloadMax) return Failure{FailureKind::invalid, name + ": larger than any payload may be"};
  return bytes;
}

}  // namespace

Result<std::string> read_payload_file(const std::string& name) {
  if (name == "-") return read_all(std::cin, "standard input");
  std::error_code unknown;
  if (std::filesystem::is_directory(name, unknown)) {
    return Failure{FailureKind::invalid, name + ": is a folder; --payload-file takes a file, or -"};
  }
  std::ifstream file(name, std::ios::binary);
  if (!file) return Failure{FailureKind::invalid, fmt::format("{}: {}", name, std::strerror(errno))};
  return read_all(file, name);
}

}  // namespace outbox::app
