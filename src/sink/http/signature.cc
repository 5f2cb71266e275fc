#include "sink/http/signature.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <memory>
#include <optional>

namespace outbox::http {
namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kShortestKey = 16;

std::string to_base64(const unsigned char* bytes, std::size_t size) {
  std::string text((size + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const auto part_of_alphabet = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  for (const char c : text.substr(0, text.size() - padding)) {
    if (!part_of_alphabet(c)) return {};
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())) < 0) {
    return {};
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace

Result<WebhookSecret> WebhookSecret::parse(std::string_view text) {
  const auto key = from_base64(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
  if (!key) {
    return Failure{FailureKind::invalid,
                   "the secret is not base64; write it as the endpoint shows it: whsec_ and base64"};
  }
  if (key->size() < kShortestKey) {
    return Failure{FailureKind::invalid, "the secret is shorter than 16 bytes; use 24 to 64 random bytes in base64"};
  }
  return WebhookSecret(*key);
}

std::string WebhookSecret::sign(std::string_view id, std::int64_t seconds, std::string_view body) const {
  std::string start(id);
  start.append(1, '.').append(std::to_string(seconds)).append(1, '.');

  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr),
                                                                    EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> mac(EVP_MAC_CTX_new(algorithm.get()),
                                                                      EVP_MAC_CTX_free);
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  const auto bytes = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  std::size_t size = 0;
  const bool made = EVP_MAC_init(mac.get(), bytes(key_), key_.size(), parameters) == 1 &&
                    EVP_MAC_update(mac.get(), bytes(start), start.size()) == 1 &&
                    EVP_MAC_update(mac.get(), bytes(body), body.size()) == 1 &&
                    EVP_MAC_final(mac.get(), code.data(), &size, code.size()) == 1;
  OUTBOX_ASSERT(made);
  return "v1," + to_base64(code.data(), size);
}

}  // namespace outbox::http
