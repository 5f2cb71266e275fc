#include "sink/nats/nats_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

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

std::chrono::milliseconds milliseconds(const config::Values& values, std::string_view name) {
  return std::chrono::ceil<std::chrono::milliseconds>(values.duration(name));
}

// What can be wrong; an option that could not be read is not there.
class Reader {
 public:
  explicit Reader(const config::Values& values) : values_(values) {
    read_servers();
    read_tls();
    read_credentials();
  }

  NatsOptions options;
  std::vector<config::OptionProblem> problems;

 private:
  void read_servers() {
    for (const std::string& text : values_.list("servers")) {
      const bool credentials = text.find('@') != std::string::npos;  // not quoted: it may hold a password
      const std::optional<Url> url = credentials ? std::nullopt : parse_url(text);
      if (credentials) {
        problem("servers", "a URL holds credentials; use user and password, token or credentials instead");
      } else if (!url) {
        problem("servers", fmt::format("\"{}\" is not nats://host:port or tls://host:port", text));
      } else {
        options.tls = options.tls || url->tls;
        options.servers.push_back({fmt::format("nats://{}:{}", url->host, url->port), without_brackets(url->host)});
      }
    }
    if (values_.has("servers") && values_.list("servers").empty()) {
      problem("servers", "name at least one nats://host:port");
    }
  }

  void read_tls() {
    options.ca_file = text_or_empty(values_, "tls.ca");
    options.certificate_file = text_or_empty(values_, "tls.certificate");
    options.key_file = text_or_empty(values_, "tls.key");
    if (options.certificate_file.empty() != options.key_file.empty()) {
      problem(options.key_file.empty() ? "tls.certificate" : "tls.key",
              "tls.certificate and tls.key belong together; give both or neither");
    }
    options.tls = options.tls || !options.ca_file.empty() || !options.certificate_file.empty();
  }

  void read_credentials() {
    Credentials& credentials = options.credentials;
    credentials.file = text_or_empty(values_, "credentials");
    credentials.user = json_escaped(text_or_empty(values_, "user"));
    credentials.password = json_escaped(text_or_empty(values_, "password"));
    credentials.token = json_escaped(text_or_empty(values_, "token"));
    if (credentials.user.empty() != credentials.password.empty()) {
      problem(credentials.user.empty() ? "password" : "user",
              "user and password belong together; give both or neither");
    }
    const int ways = !credentials.file.empty() + !credentials.user.empty() + !credentials.token.empty();
    if (ways > 1) {
      problem(credentials.file.empty() ? "token" : "credentials",
              "give one of credentials, user and password, or token");
    }
  }

  void problem(std::string option, std::string what) { problems.push_back({std::move(option), std::move(what)}); }

  const config::Values& values_;
};

}  // namespace

config::OptionTable option_table() { return kOptions; }

std::vector<config::OptionProblem> check_options(const config::Values& values) { return Reader(values).problems; }

Result<NatsOptions> read_options(std::string_view sink, const config::Values& values) {
  Reader reader(values);
  if (!reader.problems.empty()) {
    const config::OptionProblem& first = reader.problems.front();
    return Failure{FailureKind::invalid, fmt::format("sinks.{}.{}: {}", sink, first.option, first.what)};
  }
  NatsOptions options = std::move(reader.options);
  options.sink = sink;
  options.window = static_cast<std::size_t>(values.integer("window"));
  options.connect_timeout = milliseconds(values, "timeout.connect");
  options.confirm_timeout = milliseconds(values, "timeout.confirm");
  return options;
}

}  // namespace outbox::nats
