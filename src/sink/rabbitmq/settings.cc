#include "sink/rabbitmq/settings.h"

#include <amqp.h>
#include <fmt/core.h>

#include <array>
#include <optional>

namespace outbox::rabbitmq {
namespace {

using config::Option;
using config::OptionType;

constexpr std::int64_t kSecond = 1'000'000;

constexpr std::array kOptions{
    Option{.name = "url",
           .type = OptionType::secret,
           .fallback = "amqp://localhost",
           .help = "Where the broker is: amqp://user:password@host:port/vhost, or amqps for TLS; what is left out is "
                   "guest, guest, 5672 (TLS: 5671) and the vhost /.",
           .required = true},
    Option{.name = "exchange",
           .type = OptionType::text,
           .fallback = "{aggregate_type}",
           .help = "The exchange of routes that name none, with {field}s; \"\" is the default exchange, whose routing "
                   "keys are names of queues. The sink declares nothing."},
    Option{.name = "routing_key",
           .type = OptionType::text,
           .fallback = "{type}",
           .help = "The routing key of routes that name none, with {field}s."},
    Option{.name = "window",
           .type = OptionType::integer,
           .fallback = "1000",
           .help = "Most messages that wait for the broker's confirmation.",
           .min = 1,
           .max = 10'000},
    Option{.name = "payload_max",
           .type = OptionType::size,
           .fallback = "16MB",
           .help = "A larger payload goes to the dead letters unsent; no larger than the broker's max_message_size.",
           .min = 1 << 10,
           .max = 512 << 20},
    Option{.name = "heartbeat",
           .type = OptionType::duration,
           .fallback = "10s",
           .help = "How often each side shows that it lives; whole seconds. Silence for twice as long ends the "
                   "connection.",
           .min = kSecond,
           .max = 3600 * kSecond},
    Option{.name = "timeout.connect",
           .type = OptionType::duration,
           .fallback = "5s",
           .help = "Most time for connection, TLS handshake and login, each.",
           .min = 1000,
           .max = 600 * kSecond},
    Option{.name = "tls.ca",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the authorities to trust, PEM; without it the system's."},
    Option{.name = "tls.certificate",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the client certificate, PEM."},
    Option{.name = "tls.key",
           .type = OptionType::text,
           .fallback = "",
           .help = "File of the client certificate's key, PEM."},
    Option{.name = "tls.verify",
           .type = OptionType::boolean,
           .fallback = "true",
           .help = "Whether the broker's certificate must be trusted and bear the host's name; false is for trials."},
};

constexpr std::string_view kNoUrl = "is no AMQP URL; write amqp://user:password@host:port/vhost or amqps://…";

// `url` is taken apart in place, and the result points into it.
std::optional<amqp_connection_info> parse_url(std::string& url) {
  amqp_connection_info parsed;
  if (amqp_parse_url(url.data(), &parsed) != AMQP_STATUS_OK) return std::nullopt;
  return parsed;
}

void check_tls(const config::Values& options, std::vector<config::OptionProblem>& problems) {
  const auto given = [&](std::string_view option) { return options.has(option) && !options.text(option).empty(); };
  if (given("tls.certificate") != given("tls.key")) {
    problems.push_back({given("tls.key") ? "tls.key" : "tls.certificate",
                        "tls.certificate and tls.key belong together; give both or neither"});
  }
  std::string url = options.has("url") ? options.text("url") : "";
  const auto parsed = parse_url(url);
  if (!parsed || parsed->ssl != 0) return;
  for (const char* option : {"tls.ca", "tls.key"}) {
    if (given(option)) problems.push_back({option, "is given, but the URL says amqp; write amqps"});
  }
}

}  // namespace

config::OptionTable rabbitmq_options() { return kOptions; }

std::vector<config::OptionProblem> check_options(const config::Values& options) {
  std::vector<config::OptionProblem> problems;
  std::string url = options.has("url") ? options.text("url") : "";
  if (options.has("url") && !parse_url(url)) problems.push_back({"url", std::string(kNoUrl)});
  if (options.has("heartbeat") && options.duration("heartbeat").count() % kSecond != 0) {
    problems.push_back({"heartbeat", "the protocol knows whole seconds only; write 10s"});
  }
  check_tls(options, problems);
  return problems;
}

Result<Settings> read_settings(std::string_view sink, const config::Values& options) {
  if (const auto problems = check_options(options); !problems.empty()) {
    return Failure{FailureKind::invalid,
                   fmt::format("sinks.{}.{}: {}", sink, problems.front().option, problems.front().what)};
  }
  Settings settings;
  settings.sink = sink;
  std::string url = options.text("url");
  const amqp_connection_info parsed = parse_url(url).value();
  settings.host = parsed.host;
  settings.port = parsed.port;
  settings.tls = parsed.ssl != 0;
  settings.user = parsed.user;
  settings.password = parsed.password;
  settings.vhost = *parsed.vhost == '\0' ? "/" : parsed.vhost;
  settings.window = static_cast<std::size_t>(options.integer("window"));
  settings.payload_max = static_cast<std::size_t>(options.size("payload_max"));
  settings.heartbeat = std::chrono::floor<std::chrono::seconds>(options.duration("heartbeat"));
  settings.connect_timeout = std::chrono::ceil<std::chrono::milliseconds>(options.duration("timeout.connect"));
  settings.ca_file = options.text("tls.ca");
  settings.certificate_file = options.text("tls.certificate");
  settings.key_file = options.text("tls.key");
  settings.verify = options.flag("tls.verify");
  return settings;
}

}  // namespace outbox::rabbitmq
