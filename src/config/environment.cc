#include "config/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace outbox::config {

namespace {

constexpr std::size_t kSecretBytesMax = 64u << 10;

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

bool valid_name(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

Result<std::string> read_secret_file(std::string_view variable, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string content(kSecretBytesMax + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.is_open() || file.bad()) {
    return invalid(fmt::format("${{{}}}: cannot read {}: {}", variable, path, std::strerror(errno != 0 ? errno : EIO)));
  }
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > kSecretBytesMax) {
    return invalid(fmt::format("${{{}}}: {} is larger than {} bytes", variable, path, kSecretBytesMax));
  }
  if (content.ends_with('\n')) content.pop_back();
  if (content.ends_with('\r')) content.pop_back();
  return content;
}

Result<std::string> value_of(std::string_view name, const Environment& environment) {
  if (!valid_name(name))
    return invalid(fmt::format("${{{}}} does not name a variable; a literal ${{ is written $${{", name));
  auto value = environment(std::string(name));
  if (!value) return invalid(fmt::format("environment variable {} is not set", name));
  if (name.ends_with("_FILE")) return read_secret_file(name, *value);
  return *std::move(value);
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Result<std::string> interpolate(std::string_view text, const Environment& environment) {
  std::string out;
  while (true) {
    const auto dollar = text.find('$');
    out.append(text.substr(0, dollar));
    if (dollar == std::string_view::npos) return out;
    text.remove_prefix(dollar);
    if (text.starts_with("$${")) {
      out += "${";
      text.remove_prefix(3);
    } else if (text.starts_with("${")) {
      const auto end = text.find('}');
      if (end == std::string_view::npos) return invalid("${ is not closed by }; a literal ${ is written $${");
      auto value = value_of(text.substr(2, end - 2), environment);
      if (!value) return value.failure();
      out += *value;
      text.remove_prefix(end + 1);
    } else {
      out.push_back('$');
      text.remove_prefix(1);
    }
  }
}

}  // namespace outbox::config
