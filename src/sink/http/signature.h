// Standard Webhooks 1.0.0, symmetric signatures: HMAC-SHA256 over id.timestamp.body, written "v1,BASE64".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::http {

class WebhookSecret {
 public:
  // "whsec_" and base64, or the base64 alone. `invalid` for anything else and for less than 16 bytes; the text of the
  // failure does not quote the secret.
  static Result<WebhookSecret> parse(std::string_view text);

  // The value of the header webhook-signature. `seconds`: the value of webhook-timestamp.
  std::string sign(std::string_view id, std::int64_t seconds, std::string_view body) const;

 private:
  explicit WebhookSecret(std::string key) : key_(std::move(key)) {}
  std::string key_;
};

}  // namespace outbox::http
