#include "sink/nats/nats_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/json_writer.h"

namespace outbox::nats {
namespace {

using config::Option;
using config::OptionType;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::string_view kDefaultPort = "4222";

constexpr std::array kOptions{
    Option{.name = "servers",
           .type = OptionType::text_list,
           .fallback = R"([ "nats://localhost:4222" ])",
           .help = "Servers of one cluster, nats://host:port or tls://host:port each; tried in turn.",
           .required = true},
    Option{.name = "window",
           .type = OptionType::integer,
           .fallback = "4096",
           .help = "Most messages that wait for the stream's confirmation; of one key it is one at a time.",
           .min = 1,
           .max = 65'536},
    Option{.name = "timeout.connect",
           .type = OptionType::duration,
           .fallback = "2s",
           .help = "Most time for connecting to one server, its greeting included.",
           .min = kSecond / 10,
           .max = 60 * kSecond},
    Option{.name = "timeout.confirm",
           .type = OptionType::duration,
           .fallback = "10s",
           .help = "Most time until the stream confirms a message; then it is sent again, with the same Nats-Msg-Id.",
           .min = kSecond / 10,
           .max = 600 * kSecond},
    Option{.name = "credentials",
           .type = OptionType::text,
           .fallback = "",
           .help = "File with a user's JWT and NKey seed (.creds)."},
    Option{.name = "user", .type = OptionType::text, .fallback = "", .help = "User name; needs password."},
    Option{.name = "password", .type = OptionType::secret, .fallback = "", .help = "The user's password."},
    Option{.name = "token", .type = OptionType::secret, .fallback = "", .help = "Token, instead of a user."},
    Option{.name = "tls.ca",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the authorities to trust, PEM; without it the system's. Any of tls turns TLS on."},
    Option{.name = "tls.certificate",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the client certificate, PEM."},
    Option{.name = "tls.key",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the client certificate's key, PEM."},
};

std::string text_or_empty(const config::Values& values, std::string_view name) {
  return values.has(name) ? values.text(name) : std::string();
}

std::string json_escaped(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

struct Url {
  bool tls = false;
  std::string host;  // an IPv6 address in its brackets
  std::string port;
};

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoi(std::string(text)) <= 65'535;
}

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  const auto scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view name = text.substr(0, scheme);
    if (name != "nats" && name != "tls") return std::nullopt;
    url.tls = name == "tls";
    text.remove_prefix(scheme + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto colon = text.find(':', bracket);
  url.host = text.substr(0, colon);
  url.port = colon == std::string_view::npos ? kDefaultPort : text.substr(colon + 1);
  const bool bad_host = std::ranges::any_of(url.host, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f ||
           std::string_view("@/?#,\"\\").find(c) != std::string_view::npos;
  });
  if (url.host.empty() || bad_host || !is_port(url.port)) return std::nullopt;
  return url;
}

std::string without_brackets(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

class Reader {
 public:
  Reader(std::string_view sink, const config::Values& values) : values_(values) { options_.sink = sink; }

  Result<NatsOptions> read() {
    for (const auto step : {&Reader::read_servers, &Reader::read_tls, &Reader::read_credentials}) {
      if (Result<void> fine = (this->*step)(); !fine) return fine.failure();
    }
    options_.window = static_cast<std::size_t>(values_.integer("window"));
    options_.connect_timeout = milliseconds("timeout.connect");
    options_.confirm_timeout = milliseconds("timeout.confirm");
    return options_;
  }

 private:
  static Failure invalid(std::string_view option, std::string_view problem) {
    return {FailureKind::invalid, fmt::format("{}: {}", option, problem)};
  }

  std::chrono::milliseconds milliseconds(std::string_view name) const {
    return std::chrono::ceil<std::chrono::milliseconds>(values_.duration(name));
  }

  Result<void> read_servers() {
    for (const std::string& text : values_.list("servers")) {
      if (text.find('@') != std::string::npos) {  // not quoted: it may hold a password
        return invalid("servers", "a URL holds credentials; use user and password, token or credentials instead");
      }
      const std::optional<Url> url = parse_url(text);
      if (!url) return invalid("servers", fmt::format("\"{}\" is not nats://host:port or tls://host:port", text));
      options_.tls = options_.tls || url->tls;
      options_.servers.push_back({fmt::format("nats://{}:{}", url->host, url->port), without_brackets(url->host)});
    }
    if (options_.servers.empty()) return invalid("servers", "name at least one nats://host:port");
    return {};
  }

  Result<void> read_tls() {
    options_.ca_file = text_or_empty(values_, "tls.ca");
    options_.certificate_file = text_or_empty(values_, "tls.certificate");
    options_.key_file = text_or_empty(values_, "tls.key");
    if (options_.certificate_file.empty() != options_.key_file.empty()) {
      return invalid("tls", "certificate and key belong together; give both or neither");
    }
    options_.tls = options_.tls || !options_.ca_file.empty() || !options_.certificate_file.empty();
    return {};
  }

  Result<void> read_credentials() {
    Credentials& credentials = options_.credentials;
    credentials.file = text_or_empty(values_, "credentials");
    credentials.user = json_escaped(text_or_empty(values_, "user"));
    credentials.password = json_escaped(text_or_empty(values_, "password"));
    credentials.token = json_escaped(text_or_empty(values_, "token"));
    if (credentials.user.empty() != credentials.password.empty()) {
      return invalid("user", "user and password belong together; give both or neither");
    }
    const int ways = !credentials.file.empty() + !credentials.user.empty() + !credentials.token.empty();
    if (ways > 1) return invalid("credentials", "give one of credentials, user and password, or token");
    return {};
  }

  const config::Values& values_;
  NatsOptions options_;
};

}  // namespace

config::OptionTable option_table() { return kOptions; }

Result<NatsOptions> read_options(std::string_view sink, const config::Values& values) {
  return Reader(sink, values).read();
}

}  // namespace outbox::nats
