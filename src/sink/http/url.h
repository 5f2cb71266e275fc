// URLs as destinations. Only http and https, without user or password: credentials belong into `headers`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::http {

struct Target {
  std::string url;       // ready for the wire: bytes that no URL may hold are percent-encoded
  std::string endpoint;  // "https://host:port": what shares connections and their limit; safe to print
};

// `destination` is an address as the route resolves it. `invalid` says what is wrong with it.
Result<Target> parse_url(std::string_view destination);

// `invalid` if an address template could never be sent to, or lets the message choose where to: {fields} may stand
// behind the host only.
Result<void> check_url_template(std::string_view address);

// A field's value as it may stand in a URL: all but unreserved characters percent-encoded; "." and ".." too, so that
// no value climbs out of its folder.
std::string escape_url_field(std::string_view value);

}  // namespace outbox::http
