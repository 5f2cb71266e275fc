// Connecting by TLS. librabbitmq's own check of the host's name knows no addresses and had its bugs: OpenSSL's is used.
#include <amqp_ssl_socket.h>
#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "sink/rabbitmq/connection.h"

namespace outbox::rabbitmq {
namespace {

timeval to_timeval(std::chrono::milliseconds time) {
  return {time.count() / 1000, static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

bool is_address(const std::string& host) {
  unsigned char parsed[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), parsed) == 1 || ::inet_pton(AF_INET6, host.c_str(), parsed) == 1;
}

std::string last_error() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

bool demand_name(SSL_CTX* context, const std::string& host) {
  X509_VERIFY_PARAM* check = SSL_CTX_get0_param(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (is_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(check, host.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(check, host.c_str(), host.size()) == 1;
}

// librabbitmq shows the socket only when the handshake is done; until then it must be possible to cut it.
int lifeline_index() {
  static const int kIndex = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kIndex;
}

void on_progress(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  auto* lifeline = static_cast<Lifeline*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), lifeline_index()));
  lifeline->attach(SSL_get_fd(ssl));
}

std::string_view reason_of(int status) {
  const bool tls = status == AMQP_STATUS_SSL_CONNECTION_FAILED || status == AMQP_STATUS_SSL_ERROR ||
                   status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED;
  return tls ? "tls" : "unreachable";
}

}  // namespace

std::optional<Fault> Connection::connect_tls() {
  ERR_clear_error();
  amqp_socket_t* socket = amqp_ssl_socket_new(state_);
  if (socket == nullptr) return Fault{"tls", "OpenSSL cannot be initialised: " + last_error()};
  auto* context = static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket));
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  amqp_ssl_socket_set_verify_peer(socket, 0);  // OpenSSL does both, in the handshake
  amqp_ssl_socket_set_verify_hostname(socket, 0);
  SSL_CTX_set_ex_data(context, lifeline_index(), &lifeline_);
  SSL_CTX_set_info_callback(context, on_progress);
  const bool trusts = settings_.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : amqp_ssl_socket_set_cacert(socket, settings_.ca_file.c_str()) == AMQP_STATUS_OK;
  if (!trusts) return Fault{"tls", fmt::format("tls.ca {}: {}", settings_.ca_file, last_error())};
  const bool has_key =
      settings_.key_file.empty() ||
      amqp_ssl_socket_set_key(socket, settings_.certificate_file.c_str(), settings_.key_file.c_str()) == AMQP_STATUS_OK;
  if (!has_key) return Fault{"tls", fmt::format("tls.certificate or tls.key: {}", last_error())};
  if (settings_.verify && !demand_name(context, settings_.host)) return Fault{"tls", last_error()};

  const timeval timeout = to_timeval(settings_.connect_timeout);
  const int status = amqp_socket_open_noblock(socket, settings_.host.c_str(), settings_.port, &timeout);
  if (status != AMQP_STATUS_OK) {
    lifeline_.detach();
    const bool tls = ERR_peek_last_error() != 0;
    return Fault{std::string(tls ? "tls" : reason_of(status)),
                 fmt::format("{}: {}", settings_.endpoint(), tls ? last_error() : amqp_error_string2(status))};
  }
  fd_ = amqp_socket_get_sockfd(socket);
  lifeline_.attach(fd_);
  return std::nullopt;
}

}  // namespace outbox::rabbitmq
