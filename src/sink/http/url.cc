#include "sink/http/url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace outbox::http {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

void append_encoded(char c, std::string& out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHex[byte >> 4];
  out += kHex[byte & 0xF];
}

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// What RFC 3986 allows nowhere in a URL, and '#': what follows it would never be sent.
bool illegal(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte >= 0x7f || std::string_view("\"<>\\^`{|}#").find(c) != std::string_view::npos;
}

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

Failure unusable(std::string_view why) {
  return {FailureKind::invalid, "the URL " + std::string(why) + "; write it as https://host/path"};
}

}  // namespace

Result<Target> parse_url(std::string_view destination) {
  Target target;
  target.url.reserve(destination.size());
  for (const char c : destination) {
    if (illegal(c)) {
      append_encoded(c, target.url);
    } else {
      target.url += c;
    }
  }
  // libcurl mends "http:/host" and "http:///host"; that would be a host which nobody wrote.
  const auto slashes = target.url.find("://");
  if (slashes == std::string::npos) return unusable("has no scheme");
  if (slashes + 3 == target.url.size() || target.url[slashes + 3] == '/') return unusable("names no host");
  const Url url(curl_url(), curl_url_cleanup);
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, target.url.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK) return unusable(curl_url_strerror(code));
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return unusable("is neither http nor https");
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty()) {
    return unusable("holds a user or password; put credentials into `headers`");
  }
  std::string host = part(url, CURLUPART_HOST);
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  target.endpoint = scheme + "://" + host + ":" + part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  return target;
}

Result<void> check_url_template(std::string_view address) {
  const auto slashes = address.find("://");
  if (slashes == std::string_view::npos) return unusable("has no scheme");
  const auto end = address.find_first_of("/?#", slashes + 3);
  const std::string_view start = address.substr(0, end);
  if (start.find('{') != std::string_view::npos) return unusable("has a {field} in its scheme or host");
  if (end == std::string_view::npos && address.find('{') != std::string_view::npos) {
    return unusable("has a {field} right behind its host");
  }
  if (auto target = parse_url(start); !target) return target.failure();
  return {};
}

std::string escape_url_field(std::string_view value) {
  const bool dots = value == "." || value == "..";
  std::string out;
  for (const char c : value) {
    if (unreserved(c) && !dots) {
      out += c;
    } else {
      append_encoded(c, out);
    }
  }
  return out;
}

}  // namespace outbox::http
