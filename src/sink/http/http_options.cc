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
           .fallback = "",
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

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

std::string text_or_empty(const config::Values& values, std::string_view name) {
  return values.has(name) ? values.text(name) : std::string();
}

Result<HeaderList> read_headers(const config::Values& values) {
  HeaderList headers;
  if (!values.has("headers")) return headers;
  for (const auto& [name, value] : values.map("headers")) {
    if (!header_name(name)) return invalid("headers: \"" + name + "\" is not a header name");
    if (set_by_sink(name)) return invalid("headers: " + name + " is set by the sink itself; remove it");
    if (!header_value(value)) return invalid("headers: the value of " + name + " holds a control character");
    headers.emplace_back(name, value);
  }
  return headers;
}

Result<void> read_signing(const config::Values& values, HttpOptions& options) {
  const std::string text = text_or_empty(values, "sign.secret");
  const bool wanted = values.text("sign.scheme") != "none";
  if (!wanted && text.empty()) return {};
  if (!wanted) return invalid("sign.secret is given but no sign.scheme; write scheme: standard-webhooks");
  if (text.empty()) return invalid("sign.secret is empty or missing; give the secret that the endpoint shows");
  auto secret = WebhookSecret::parse(text);
  if (!secret) return invalid("sign.secret: " + secret.failure().what);
  options.secret = *secret;
  return {};
}

}  // namespace

config::OptionTable option_table() { return kOptions; }

Result<HttpOptions> read_options(const config::Values& values) {
  HttpOptions options;
  if (auto usable = check_url_template(values.text("url")); !usable) return usable.failure();
  options.put = values.text("method") == "PUT";
  options.concurrency = static_cast<std::size_t>(values.integer("concurrency"));
  options.connect_timeout = values.duration("timeout.connect");
  options.total_timeout = values.duration("timeout.total");
  auto headers = read_headers(values);
  if (!headers) return headers.failure();
  options.headers = *std::move(headers);
  if (auto signing = read_signing(values, options); !signing) return signing.failure();
  auto answers = Answers::parse(values.has("answers") ? values.map("answers") : std::map<std::string, std::string>());
  if (!answers) return answers.failure();
  options.answers = *answers;
  options.refuse_private = values.text("private_networks") == "refuse";
  options.ca_file = text_or_empty(values, "tls.ca");
  options.certificate_file = text_or_empty(values, "tls.certificate");
  options.key_file = text_or_empty(values, "tls.key");
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return invalid("tls.certificate and tls.key belong together; give both or neither");
  }
  return options;
}

}  // namespace outbox::http
