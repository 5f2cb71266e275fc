#include "sink/http/failure_report.h"

#include "base/text.h"

namespace outbox::http {
namespace {

constexpr std::size_t kShown = 300;
constexpr std::size_t kShortestSecret = 4;
constexpr std::size_t kShortestToken = 16;  // a part of a path that long is no word, it may be a token

void mask(std::string& text, const std::string& secret) {
  if (secret.size() < kShortestSecret) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
    text.replace(at, secret.size(), "***");
  }
}

// "Bearer tok_ABC" is masked as a whole and by its parts.
void mask_headers(std::string& text, const HeaderList& headers) {
  for (const auto& [name, value] : headers) {
    mask(text, value);
    for (const auto& part : split(value, ' ')) mask(text, part);
  }
}

// The values of the query, and what of the path may be a token.
void mask_url(std::string& text, std::string_view url) {
  const auto host = url.find("://");
  const auto behind = host == std::string_view::npos ? host : url.find_first_of("/?#", host + 3);
  if (behind == std::string_view::npos) return;
  const std::string_view rest = url.substr(behind);
  const auto question = rest.find('?');
  for (const auto& part : split(rest.substr(0, question), '/')) {
    if (part.size() >= kShortestToken) mask(text, part);
  }
  if (question == std::string_view::npos) return;
  for (const auto& pair : split(rest.substr(question + 1), '&')) {
    const auto equals = pair.find('=');
    mask(text, equals == std::string::npos ? pair : pair.substr(equals + 1));
  }
}

// Before anything is cut, so that no half of a secret stays.
std::string shown(std::string_view answer, std::string_view url, const HttpOptions& options) {
  std::string text(answer);
  mask_headers(text, options.headers);
  mask_url(text, url);
  return text.substr(0, kShown);
}

}  // namespace

bool tls_failure(CURLcode code) {
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_SHUTDOWN_FAILED: return true;
    default: return false;
  }
}

std::string describe_answer(const Target& target, int status, std::string_view location, std::string_view body,
                            const HttpOptions& options) {
  std::string text(target.endpoint);
  text.append(" answered ").append(std::to_string(status));
  if (status >= 300 && status < 400) {
    text.append("; redirects are never followed");
    if (!location.empty())
      text.append(", write the address it names: ").append(shown(trim(location), target.url, options));
  }
  if (!body.empty()) text.append(": ").append(shown(body, target.url, options));
  return one_line(text);
}

}  // namespace outbox::http
