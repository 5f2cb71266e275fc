#include "sink/nats/handshake_deadline.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/result.h"

namespace outbox::nats {
namespace {

thread_local std::chrono::microseconds patience_here{0};  // 0: none

void on_progress(const SSL* connection, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(patience_here);
  const timeval limit{seconds.count(), (patience_here - seconds).count()};
  ::setsockopt(SSL_get_fd(connection), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(SSL_get_fd(connection), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void on_new(void* connection, void*, CRYPTO_EX_DATA*, int, long, void*) {
  if (patience_here.count() > 0) SSL_set_info_callback(static_cast<SSL*>(connection), on_progress);
}

}  // namespace

HandshakeDeadline::HandshakeDeadline(std::chrono::milliseconds patience) {
  static const int kHook = SSL_get_ex_new_index(0, nullptr, on_new, nullptr, nullptr);
  OUTBOX_ASSERT(kHook >= 0);
  patience_here = patience;
}

HandshakeDeadline::~HandshakeDeadline() { patience_here = std::chrono::microseconds(0); }

}  // namespace outbox::nats
