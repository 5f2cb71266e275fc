#include "sink/http/failure_report.h"

#include "base/text.h"

namespace outbox::http {
namespace {

constexpr std::size_t kShown = 300;
constexpr std::size_t kShortestSecret = 4;

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

std::string describe_answer(std::string_view endpoint, int status, std::string_view location, std::string_view body,
                            const HttpOptions& options) {
  std::string text(endpoint);
  text.append(" answered ").append(std::to_string(status));
  if (status >= 300 && status < 400) {
    text.append("; redirects are never followed");
    if (!location.empty()) text.append(", write the address it names: ").append(trim(location).substr(0, kShown));
  }
  if (!body.empty()) {
    std::string start(body);
    mask_headers(start, options.headers);
    text.append(": ").append(start.substr(0, kShown));
  }
  return one_line(text);
}

}  // namespace outbox::http
