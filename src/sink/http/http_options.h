// The http sink's options: the table, and the values checked and ready for use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/options.h"
#include "model/headers.h"
#include "sink/http/answers.h"
#include "sink/http/signature.h"

namespace outbox::http {

config::OptionTable option_table();

struct HttpOptions {
  bool put = false;  // PUT instead of POST
  std::size_t concurrency = 16;
  Duration connect_timeout{2s};
  Duration total_timeout{10s};
  HeaderList headers;  // the configured ones; values may be secret
  std::optional<WebhookSecret> secret;
  Answers answers;
  bool refuse_private = false;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
};

// See SinkType::check_options.
std::vector<config::OptionProblem> check_options(const config::Values& values);

// `invalid` says which option is wrong and never quotes a secret.
Result<HttpOptions> read_options(const config::Values& values);

}  // namespace outbox::http
