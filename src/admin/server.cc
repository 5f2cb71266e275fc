#include "admin/server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <thread>

namespace outbox {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptPause{100};

// What all connections share; only the server's thread touches it once it runs.
struct Shared {
  AdminHandlers handlers;
  AdminLimits limits;
  std::size_t connections = 0;
};

AdminResponse answer(const Shared& shared, const http::request<http::string_body>& request) {
  const std::string target(request.target());
  const auto question = target.find('?');
  AdminRequest parsed{target.substr(0, question), question == std::string::npos ? "" : target.substr(question + 1)};
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return {405, "text/plain; charset=utf-8", "only GET and HEAD\n"};
  }
  const auto handler = shared.handlers.find(parsed.path);
  if (handler != shared.handlers.end()) return handler->second(parsed);
  std::string paths;
  for (const auto& [path, unused] : shared.handlers) paths += path + "\n";
  return {404, "text/plain; charset=utf-8", "not found; there are:\n" + paths};
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() { --shared_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(shared_.limits.header_bytes);
    parser_->body_limit(shared_.limits.body_bytes);
    stream_.expires_after(shared_.limits.request_timeout);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_read(error); });
  }

 private:
  void on_read(const beast::error_code& error) {
    if (error == http::error::header_limit)
      return write({431, "text/plain", "the header is too large\n"}, false, false);
    if (error == http::error::body_limit) return write({413, "text/plain", "the body is too large\n"}, false, false);
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return write({400, "text/plain", "not HTTP/1.1\n"}, false, false);
    }
    if (error) return;  // closed, or too slow: the connection goes with the last reference to it
    const auto& request = parser_->get();
    write(answer(shared_, request), request.method() == http::verb::head, request.keep_alive());
  }

  void write(AdminResponse answered, bool head, bool keep_alive) {
    response_.emplace(static_cast<http::status>(answered.status), 11);
    response_->set(http::field::content_type, answered.content_type);
    response_->set(http::field::cache_control, "no-store");
    response_->set("X-Content-Type-Options", "nosniff");
    response_->keep_alive(keep_alive);
    response_->content_length(answered.body.size());
    if (!head) response_->body() = std::move(answered.body);
    stream_.expires_after(shared_.limits.answer_timeout);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_written(error); });
  }

  void on_written(const beast::error_code& error) {
    if (error) return;
    if (response_->keep_alive()) return read();
    beast::error_code ignored;  // the peer may be gone already, which is as good
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{64u << 10};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
};

}  // namespace

class AdminServer::State {
 public:
  State(AdminHandlers handlers, const AdminLimits& limits) : shared_{std::move(handlers), limits, 0} {}

  ~State() { io_.stop(); }  // thread_, declared last, is joined before anything it uses goes

  beast::error_code listen(const tcp::endpoint& endpoint) {
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void run() {
    accept();
    thread_ = std::jthread([this] { io_.run(); });
  }

  std::uint16_t port() const { return port_; }

 private:
  void accept() {
    acceptor_.async_accept([this](const beast::error_code& error, tcp::socket socket) {
      if (error) return pause();
      if (shared_.connections < shared_.limits.connections) {
        std::make_shared<Connection>(std::move(socket), shared_)->read();
      }
      accept();
    });
  }

  // Out of descriptors, most likely: trying again at once would only burn the processor.
  void pause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const beast::error_code&) { accept(); });
  }

  Shared shared_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

Result<std::unique_ptr<AdminServer>> AdminServer::start(const ListenAddress& address, AdminHandlers handlers,
                                                        const AdminLimits& limits) {
  beast::error_code error;
  const auto ip = asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error) {
    return Failure{FailureKind::invalid, fmt::format("admin.listen: '{}' is not an IP address", address.host)};
  }
  auto state = std::make_unique<State>(std::move(handlers), limits);
  if (error = state->listen({ip, address.port}); error) {
    const bool taken = error == asio::error::address_in_use;
    return Failure{
        FailureKind::local,
        fmt::format("admin.listen: cannot listen on {}:{}: {}; {}", address.host, address.port, error.message(),
                    taken ? "another program has it, perhaps a relay that runs already (`outboxd status` "
                            "names it): stop that one, or choose another address"
                          : "choose another address")};
  }
  state->run();
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(state)));
}

AdminServer::AdminServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
AdminServer::~AdminServer() = default;
std::uint16_t AdminServer::port() const { return state_->port(); }

}  // namespace outbox
