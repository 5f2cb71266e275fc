#include "sink/http/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "sink/http/address_rules.h"
#include "sink/http/failure_report.h"
#include "sink/http/header_rules.h"
#include "sink/http/request.h"
#include "sink/http/retry_after.h"

namespace outbox::http {
namespace {

constexpr std::size_t kBodyKept = 16 * 1024;
constexpr std::size_t kBodyRead = 64 * 1024;

Time now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

long milliseconds(Duration duration) {
  return std::max<long>(1, std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Transfer::Transfer(const HttpOptions& options) : options_(options), easy_(curl_easy_init()) {
  OUTBOX_ASSERT(easy_ != nullptr);
  set_defaults();
  set_tls();
}

Transfer::~Transfer() = default;

template <class T>
void Transfer::set(CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
  OUTBOX_ASSERT(code == CURLE_OK);
}

void Transfer::set_defaults() {
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options_.connect_timeout));
  set(CURLOPT_TIMEOUT_MS, milliseconds(options_.total_timeout));
  set(CURLOPT_USERAGENT, "outboxd/" OUTBOX_VERSION);
  set(CURLOPT_POST, 1L);
  if (options_.put) set(CURLOPT_CUSTOMREQUEST, "PUT");
  set(CURLOPT_PREREQFUNCTION, &before_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &read_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &read_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

void Transfer::set_tls() {
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
  if (!options_.certificate_file.empty()) set(CURLOPT_SSLCERT, options_.certificate_file.c_str());
  if (!options_.key_file.empty()) set(CURLOPT_SSLKEY, options_.key_file.c_str());
}

Outcome Transfer::connect(const Target& target) {
  target_ = target;
  set(CURLOPT_URL, target.url.c_str());
  set(CURLOPT_CONNECT_ONLY, 1L);
  const CURLcode code = curl_easy_perform(easy_.get());
  return code == CURLE_OK ? delivered(target.endpoint) : failed(code);
}

Result<void> Transfer::prepare(const Publication& publication, const Target& target) {
  auto lines = header_lines(publication, options_, now());
  if (!lines) return lines.failure();
  // libcurl adds the first two by itself unless told otherwise; "Name;" is how it is told of an empty value.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  list = curl_slist_append(list, "Accept-Encoding: identity");
  for (auto& line : *lines) {
    if (line.ends_with(": ")) line.replace(line.size() - 2, 2, ";");
    list = curl_slist_append(list, line.c_str());
    OUTBOX_ASSERT(list != nullptr);
  }
  lines_.reset(list);

  id_ = publication.id;
  record_ = publication.record;
  target_ = target;
  requests_ = 0;
  address_refused_ = false;
  socket_error_ = 0;
  cut_ = false;
  body_bytes_ = 0;
  body_.clear();
  retry_after_.clear();
  location_.clear();

  set(CURLOPT_URL, target.url.c_str());
  set(CURLOPT_HTTPHEADER, lines_.get());
  set(CURLOPT_POSTFIELDS, record_->payload.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(record_->payload.size()));
  return {};
}

Outcome Transfer::finish(CURLcode code) {
  const bool complete = code == CURLE_OK || (code == CURLE_WRITE_ERROR && cut_);
  Outcome outcome = complete ? answered() : failed(code);
  record_.reset();
  return outcome;
}

// libcurl sends a request again on its own when a reused connection ends before a byte of an answer. Every repeat is
// to be an attempt that the relay knows of, so the second time is refused.
int Transfer::before_request(void* self, char*, char*, int, int) {
  return ++static_cast<Transfer*>(self)->requests_ == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// The one place that sees the address which is really being connected to.
curl_socket_t Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.options_.refuse_private && private_address(address->addr)) {
    transfer.address_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) transfer.socket_error_ = errno;
  return fd;
}

std::size_t Transfer::read_header(char* bytes, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view line(bytes, size);
  if (line.starts_with("HTTP/")) {
    transfer.retry_after_.clear();
    transfer.location_.clear();
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  const std::string_view name = line.substr(0, colon);
  if (same_header(name, "retry-after")) transfer.retry_after_ = line.substr(colon + 1);
  if (same_header(name, "location")) transfer.location_ = line.substr(colon + 1);
  return size;
}

std::size_t Transfer::read_body(char* bytes, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t room = kBodyKept - std::min(kBodyKept, transfer.body_.size());
  transfer.body_.append(bytes, std::min(size, room));
  transfer.body_bytes_ += size;
  transfer.cut_ = transfer.body_bytes_ > kBodyRead;
  return transfer.cut_ ? 0 : size;
}

bool Transfer::may_have_arrived() const {
  long sent = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &sent);
  return requests_ > 1 || (requests_ == 1 && sent > 0);
}

Outcome Transfer::answered() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  Answer answer;
  answer.status = static_cast<int>(status);
  answer.retry_after = parse_retry_after(retry_after_, now());
  if (answer.status < 200 || answer.status > 299) {
    answer.detail = describe_answer(target_, answer.status, location_, body_, options_);
  }
  return options_.answers.judge(answer);
}

Outcome Transfer::failed(CURLcode code) const {
  const bool arrived = may_have_arrived();
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      if (arrived) return unknown("timeout", detail("did not answer in time"));
      return busy(Scope::destination, "connect_timeout", detail("could not be connected to in time"));
    case CURLE_OUT_OF_MEMORY: return busy(Scope::sink, "out_of_memory", detail("could not be asked: out of memory"));
    default: break;
  }
  if (!arrived) return could_not_connect(code);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_BAD_CONTENT_ENCODING) {
    return unknown("bad_answer", detail("answered with something that is not HTTP"));
  }
  return unknown("connection_lost", detail("ended the connection before its answer was complete"));
}

Outcome Transfer::could_not_connect(CURLcode code) const {
  if (address_refused_) {
    return busy(Scope::destination, "private_address",
                detail("resolves to a private address; private_networks: refuse forbids that"));
  }
  if (socket_error_ == EMFILE || socket_error_ == ENFILE) {
    return busy(Scope::sink, "no_descriptors", detail("could not be connected to: raise ulimit -n"));
  }
  if (code == CURLE_COULDNT_RESOLVE_HOST) return busy(Scope::destination, "dns", detail("has no address in the DNS"));
  if (code == CURLE_COULDNT_CONNECT) {
    long error = socket_error_;
    if (error == 0) curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
    const std::string why = error == 0 ? "refused" : std::generic_category().message(static_cast<int>(error));
    const bool refused = error == ECONNREFUSED;
    return busy(Scope::destination, refused ? "refused" : "unreachable", detail("could not be connected to: " + why));
  }
  if (tls_failure(code)) {
    return busy(Scope::destination, "tls", detail(std::string("failed in TLS: ") + curl_easy_strerror(code)));
  }
  return busy(Scope::destination, "connection_lost", detail(std::string("failed: ") + curl_easy_strerror(code)));
}

std::string Transfer::detail(std::string_view what) const { return target_.endpoint + " " + std::string(what); }

}  // namespace outbox::http
