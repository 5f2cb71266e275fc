#include "sink/http/http_options.h"

#include <array>

#include "sink/http/header_rules.h"
#include "sink/http/url.h"

namespace outbox::http {
namespace {

using config::Option;
using config::OptionType;

constexpr std::int64_t kSecond = 1'000'000;

constexpr std::array kOptions{
    Option{.name = "url",
           .type = OptionType::text,
           .fallback = "https://api.example.test/orders",
           .help = "Where to send; fields of the message may stand behind the host: "
                   "https://api.example.test/orders/{aggregate_id}.",
           .required = true},
    Option{.name = "method",
           .type = OptionType::choice,
           .fallback = "POST",
           .help = "The request's method.",
           .choices = "POST|PUT"},
    Option{.name = "concurrency",
           .type = OptionType::integer,
           .fallback = "16",
           .help = "Most requests that are under way at one host and port at a time.",
           .min = 1,
           .max = 256},
    Option{.name = "timeout.connect",
           .type = OptionType::duration,
           .fallback = "2s",
           .help = "Most time for name lookup, connection and TLS handshake.",
           .min = 1000,
           .max = 600 * kSecond},
    Option{.name = "timeout.total",
           .type = OptionType::duration,
           .fallback = "10s",
           .help = "Most time for the whole request, to the last byte of the answer.",
           .min = 1000,
           .max = 600 * kSecond},
    Option{.name = "headers",
           .type = OptionType::text_map,
           .fallback = "",
           .help = "Headers of every request, such as Authorization; they win over a row's own of the same name."},
    Option{.name = "sign.scheme",
           .type = OptionType::choice,
           .fallback = "none",
           .help = "How requests are signed: standard-webhooks adds webhook-id, webhook-timestamp and "
                   "webhook-signature.",
           .choices = "none|standard-webhooks"},
    Option{.name = "sign.secret",
           .type = OptionType::secret,
           .fallback = "",
           .help = "The signing secret: whsec_ and base64."},
    Option{.name = "answers",
           .type = OptionType::text_map,
           .fallback = "",
           .help = "Other meanings for status codes (404) or classes (5xx): delivered, reject, unknown, "
                   "retry_destination, retry_message."},
    Option{.name = "private_networks",
           .type = OptionType::choice,
           .fallback = "allow",
           .help = "refuse: never connect to loopback, private, link-local or reserved addresses, whatever a name "
                   "resolves to.",
           .choices = "allow|refuse"},
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
};

using Problems = std::vector<config::OptionProblem>;

std::string text_or_empty(const config::Values& values, std::string_view name) {
  return values.has(name) ? values.text(name) : std::string();
}

void check_headers(const config::Values& values, Problems& problems) {
  for (const auto& [name, value] : values.map("headers")) {
    const std::string option = "headers." + name;
    if (!header_name(name)) {
      problems.push_back({option, "this is not a header name"});
    } else if (set_by_sink(name)) {
      problems.push_back({option, "is set by the sink itself; remove it"});
    } else if (!header_value(value)) {
      problems.push_back({option, "the value holds a control character"});
    }
  }
}

void check_signing(const config::Values& values, Problems& problems) {
  const std::string text = text_or_empty(values, "sign.secret");
  const bool wanted = values.has("sign.scheme") && values.text("sign.scheme") != "none";
  if (!wanted && text.empty()) return;
  if (!wanted) {
    problems.push_back({"sign.secret", "is given but no sign.scheme; write scheme: standard-webhooks"});
  } else if (text.empty()) {
    problems.push_back({"sign.secret", "is empty or missing; give the secret that the endpoint shows"});
  } else if (auto secret = WebhookSecret::parse(text); !secret) {
    problems.push_back({"sign.secret", secret.failure().what});
  }
}

}  // namespace

config::OptionTable option_table() { return kOptions; }

std::vector<config::OptionProblem> check_options(const config::Values& values) {
  Problems problems;
  if (const std::string url = text_or_empty(values, "url"); !url.empty()) {
    if (auto usable = check_url_template(url); !usable) problems.push_back({"url", usable.failure().what});
  }
  check_headers(values, problems);
  check_signing(values, problems);
  for (const auto& each : values.map("answers")) {
    if (auto answers = Answers::parse({each}); !answers) {
      problems.push_back({"answers." + each.first, answers.failure().what});
    }
  }
  const bool certificate = !text_or_empty(values, "tls.certificate").empty();
  if (certificate != !text_or_empty(values, "tls.key").empty()) {
    problems.push_back({certificate ? "tls.certificate" : "tls.key",
                        "tls.certificate and tls.key belong together; give both or neither"});
  }
  return problems;
}

Result<HttpOptions> read_options(const config::Values& values) {
  if (const Problems problems = check_options(values); !problems.empty()) {
    return Failure{FailureKind::invalid, problems.front().option + ": " + problems.front().what};
  }
  HttpOptions options;
  options.put = values.text("method") == "PUT";
  options.concurrency = static_cast<std::size_t>(values.integer("concurrency"));
  options.connect_timeout = values.duration("timeout.connect");
  options.total_timeout = values.duration("timeout.total");
  for (const auto& [name, value] : values.map("headers")) options.headers.emplace_back(name, value);
  if (values.text("sign.scheme") != "none") options.secret = *WebhookSecret::parse(values.text("sign.secret"));
  options.answers = *Answers::parse(values.map("answers"));
  options.refuse_private = values.text("private_networks") == "refuse";
  options.ca_file = text_or_empty(values, "tls.ca");
  options.certificate_file = text_or_empty(values, "tls.certificate");
  options.key_file = text_or_empty(values, "tls.key");
  return options;
}

}  // namespace outbox::http
