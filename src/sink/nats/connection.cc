#include "sink/nats/connection.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "sink/nats/handshake_deadline.h"

namespace outbox::nats {
namespace {

constexpr int kBufferMax = 256 << 10;
constexpr int kKeepAliveIdleSeconds = 20;
constexpr int kKeepAliveIntervalSeconds = 5;

using SharedMailbox = std::shared_ptr<Mailbox>;

// The client's last word on this thread, without its "(file.c:12): ".
std::string client_error(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* said = nats_GetLastError(&last);
  std::string text = said != nullptr && last == status ? one_line(said) : std::string();
  if (text.starts_with('(')) {
    const auto end = text.find("): ");
    if (end != std::string::npos) text.erase(0, end + 3);
  }
  return text.empty() ? natsStatus_GetText(status) : text;
}

std::string_view reason_of(natsStatus status) {
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED: return "authentication";
    case NATS_SSL_ERROR:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SECURE_CONNECTION_WANTED: return "tls";
    case NATS_NO_SERVER_SUPPORT: return "server_too_old";
    default: return "unreachable";
  }
}

// The server ends the connection for these, too, and would do so again for the same message.
bool blames_the_message(std::string server_error) {
  static constexpr std::array<std::string_view, 6> kWords{"maximum payload", "control line", "protocol",
                                                          "parser",          "subject",      "header"};
  std::ranges::transform(server_error, server_error.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return server_error.find(word) != std::string_view::npos; });
}

// In the client's thread for answers.
void on_answer(natsConnection*, natsSubscription*, natsMsg* raw, void* closure) {
  const MessageHandle message(raw);
  Mailbox& mailbox = **static_cast<SharedMailbox*>(closure);
  const std::string_view token = std::string_view(natsMsg_GetSubject(raw)).substr(mailbox.inbox().size());
  DeliveryId id = 0;
  if (std::from_chars(token.data(), token.data() + token.size(), id).ptr != token.data() + token.size()) return;
  if (natsMsg_IsNoResponders(raw)) return mailbox.answered(no_stream(id));
  mailbox.answered(
      read_answer(id, std::string_view(natsMsg_GetData(raw), static_cast<std::size_t>(natsMsg_GetDataLength(raw)))));
}

// In the client's thread for events.
void on_error(natsConnection*, natsSubscription*, natsStatus status, void* closure) {
  if (status == NATS_NOT_PERMITTED) (*static_cast<SharedMailbox*>(closure))->denied(client_error(status));
}

void on_closed(natsConnection*, void* closure) { delete static_cast<SharedMailbox*>(closure); }

void on_no_more_answers(void* closure) { delete static_cast<SharedMailbox*>(closure); }

void set_option(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof value);
}

}  // namespace

natsStatus Connection::attach(void** user, void* loop, natsConnection*, natsSock descriptor) {
  Socket& socket = *static_cast<Socket*>(loop);
  *user = loop;
  // A peer that is gone without a word, and one that takes nothing any more: the kernel gives up on both.
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(socket.patience.count()));
  const std::lock_guard lock(socket.mutex);
  socket.descriptor = descriptor;
  return NATS_OK;
}

natsStatus Connection::read_event(void* user, bool add) {
  Socket& socket = *static_cast<Socket*>(user);
  if (add) return NATS_OK;
  const std::lock_guard lock(socket.mutex);
  socket.descriptor = -1;  // the client closes it next
  return NATS_OK;
}

natsStatus Connection::write_event(void* user, bool add) {
  static_cast<Socket*>(user)->wants_write = add;
  return NATS_OK;
}

natsStatus Connection::detach(void*) { return NATS_OK; }

Connection::Connection(std::string server, Bell& bell) : server_(std::move(server)), bell_(bell) {}

Connection::~Connection() {
  cut();
  if (mailbox_) mailbox_->close();
}

Connection::Dialled Connection::dial(const NatsOptions& options, const Server& server, Bell& bell) {
  std::unique_ptr<Connection> connection(new Connection(server.url, bell));
  const natsStatus status = connection->connect(options, server);
  if (status == NATS_OK) return {std::move(connection), {}};
  return {nullptr,
          busy(Scope::sink, std::string(reason_of(status)), fmt::format("{}: {}", server.url, client_error(status)))};
}

natsStatus Connection::connect(const NatsOptions& options, const Server& server) {
  char* inbox = nullptr;
  natsStatus status = natsInbox_Create(&inbox);
  if (status != NATS_OK) return status;
  mailbox_ = std::make_shared<Mailbox>(bell_, std::string(inbox) + ".");
  natsInbox_Destroy(inbox);
  socket_.patience = options.confirm_timeout;

  natsOptions* made = nullptr;
  status = natsOptions_Create(&made);
  if (status != NATS_OK) return status;
  const OptionsHandle opts(made);
  status = configure(opts.get(), options, server);
  if (status != NATS_OK) return status;
  auto closure = std::make_unique<SharedMailbox>(mailbox_);
  natsOptions_SetErrorHandler(opts.get(), on_error, closure.get());
  natsOptions_SetClosedCB(opts.get(), on_closed, closure.get());
  natsConnection* connection = nullptr;
  const HandshakeDeadline deadline(options.connect_timeout);
  status = natsConnection_Connect(&connection, opts.get());
  if (status != NATS_OK) return status;
  static_cast<void>(closure.release());  // to on_closed, which is the client's last call
  connection_.reset(connection);
  return subscribe();
}

natsStatus Connection::configure(natsOptions* opts, const NatsOptions& options, const Server& server) {
  natsStatus status = natsOptions_SetURL(opts, server.url.c_str());
  const auto and_then = [&](auto function, auto... values) {
    if (status == NATS_OK) status = function(opts, values...);
  };
  and_then(natsOptions_SetName, "outboxd");
  and_then(natsOptions_SetTimeout, std::int64_t{options.connect_timeout.count()});
  and_then(natsOptions_SetAllowReconnect, false);
  and_then(natsOptions_SetSendAsap, true);                 // no thread that writes
  and_then(natsOptions_SetPingInterval, std::int64_t{0});  // none that closes either: see attach()
  and_then(natsOptions_SetEventLoop, static_cast<void*>(&socket_), attach, read_event, write_event, detach);
  const Credentials& who = options.credentials;
  if (!who.file.empty()) and_then(natsOptions_SetUserCredentialsFromFiles, who.file.c_str(), nullptr);
  if (!who.user.empty()) and_then(natsOptions_SetUserInfo, who.user.c_str(), who.password.c_str());
  if (!who.token.empty()) and_then(natsOptions_SetToken, who.token.c_str());
  if (!options.tls) return status;
  and_then(natsOptions_SetSecure, true);
  and_then(natsOptions_SetExpectedHostname, server.host.c_str());  // the client checks no name unless it is told one
  if (!options.ca_file.empty()) and_then(natsOptions_LoadCATrustedCertificates, options.ca_file.c_str());
  if (!options.certificate_file.empty()) {
    and_then(natsOptions_LoadCertificatesChain, options.certificate_file.c_str(), options.key_file.c_str());
  }
  return status;
}

natsStatus Connection::subscribe() {
  natsSubscription* subscription = nullptr;
  auto closure = std::make_unique<SharedMailbox>(mailbox_);
  const std::string subject = mailbox_->inbox() + "*";
  natsStatus status =
      natsConnection_Subscribe(&subscription, connection_.get(), subject.c_str(), on_answer, closure.get());
  if (status != NATS_OK) return status;
  inbox_.reset(subscription);
  natsSubscription_SetOnCompleteCB(subscription, on_no_more_answers, closure.release());
  return natsSubscription_SetPendingLimits(subscription, -1, -1);  // the window bounds them
}

bool Connection::has_room() const { return natsConnection_Buffered(connection_.get()) < kBufferMax; }

std::optional<Outcome> Connection::send(DeliveryId id, const std::string& subject, const HeaderList& headers,
                                        std::string_view payload) {
  const auto max_payload = natsConnection_GetMaxPayload(connection_.get());
  const Outcome too_large = rejected(
      "too_large",
      fmt::format("payload and headers exceed the {} bytes that {} allows (max_payload)", max_payload, server_));
  if (std::cmp_greater(payload.size(), max_payload)) return too_large;
  natsMsg* made = nullptr;
  const std::string reply = mailbox_->inbox() + std::to_string(id);
  natsStatus status =
      natsMsg_Create(&made, subject.c_str(), reply.c_str(), payload.data(), static_cast<int>(payload.size()));
  const MessageHandle message(made);
  for (const auto& [name, value] : headers) {
    if (status == NATS_OK) status = natsMsgHeader_Add(made, name.c_str(), value.c_str());
  }
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.get(), made);
  switch (status) {
    case NATS_OK:
    case NATS_CONNECTION_CLOSED: return std::nullopt;  // if closed, it comes back with the rest
    case NATS_MAX_PAYLOAD: return too_large;
    case NATS_NO_SERVER_SUPPORT:
      return busy(Scope::sink, std::string(reason_of(status)),
                  fmt::format("{}: this server knows no headers; it must be 2.2 or newer", server_));
    default: return unknown("client_failed", fmt::format("{}: {}", server_, client_error(status)));
  }
}

void Connection::exchange(std::chrono::milliseconds patience) {
  std::array<pollfd, 2> waits{pollfd{bell_.descriptor(), POLLIN, 0}, pollfd{socket_.descriptor, POLLIN, 0}};
  if (socket_.wants_write) waits[1].events |= POLLOUT;
  if (::poll(waits.data(), waits.size(), static_cast<int>(patience.count())) <= 0) return;
  if (waits[0].revents != 0) bell_.silence();
  if ((waits[1].revents & POLLOUT) != 0) natsConnection_ProcessWriteEvent(connection_.get());
  if ((waits[1].revents & ~POLLOUT) != 0) natsConnection_ProcessReadEvent(connection_.get());
}

bool Connection::alive() const { return !natsConnection_IsClosed(connection_.get()); }

Outcome Connection::ending() const {
  const char* said = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection_.get(), &said);
  const std::string text = one_line(said != nullptr ? said : "");
  std::string detail = fmt::format("{}: {}", server_, text.empty() ? "the connection was lost" : text);
  if (status == NATS_ERR && blames_the_message(text)) return client_dead("protocol_error", std::move(detail));
  if (status == NATS_CONNECTION_AUTH_FAILED) return busy(Scope::sink, "authentication", std::move(detail));
  return busy(Scope::sink, "connection_lost", std::move(detail));
}

void Connection::interrupt() {
  const std::lock_guard lock(socket_.mutex);
  if (socket_.descriptor >= 0) ::shutdown(socket_.descriptor, SHUT_RDWR);
}

// Without this the client's own close would first try to have everything written.
void Connection::cut() {
  if (!connection_) return;
  const linger reset{1, 0};
  ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  ::shutdown(socket_.descriptor, SHUT_RD);
  while (alive()) natsConnection_ProcessReadEvent(connection_.get());  // to the end of what came; then it closes
}

}  // namespace outbox::nats
