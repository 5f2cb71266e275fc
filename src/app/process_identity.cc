#include "app/process_identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "base/text.h"

namespace outbox::app {

namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string boot_and_namespace() {
  std::string boot = read_all("/proc/sys/kernel/random/boot_id");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  std::error_code unreadable;
  return boot + "/" + std::filesystem::read_symlink("/proc/self/ns/pid", unreadable).string();
}

// Clock ticks after boot; "" if it does not run. Fields of /proc/PID/stat behind the name, which may hold anything but
// ends at the last ')': the state is the first, the start the 20th (proc(5)).
std::string start_of(std::string_view pid) {
  const std::string stat = read_all(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > stat.size()) return {};
  const auto fields = split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return {};
  return std::string(fields[19]);
}

}  // namespace

std::string process_identity() {
  const std::string pid = std::to_string(::getpid());
  return boot_and_namespace() + "/" + pid + "/" + start_of(pid);
}

bool process_is_gone(std::string_view identity) {
  const std::string here = boot_and_namespace() + "/";
  if (here.size() < 2 || !identity.starts_with(here)) return false;
  const auto parts = split(identity.substr(here.size()), '/');
  return parts.size() == 2 && start_of(parts[0]) != parts[1];
}

std::string relay_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::random_device entropy;
  return fmt::format("{}:{}:{:04x}", host.data(), ::getpid(), entropy() & 0xffffU);
}

}  // namespace outbox::app
