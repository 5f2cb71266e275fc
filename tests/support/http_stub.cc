#include "support/http_stub.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "support/stub_socket.h"

namespace outbox::test {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string strip(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void parse_head(const std::string& head, StubRequest& request) {
  std::size_t at = 0;
  for (bool first = true; at < head.size(); first = false) {
    const auto end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    at = end + 2;
    if (line.empty()) return;
    if (first) {
      const auto blank = line.find(' ');
      request.method = line.substr(0, blank);
      request.target = line.substr(blank + 1, line.rfind(' ') - blank - 1);
    } else {
      const auto colon = line.find(':');
      request.headers.emplace_back(lower(line.substr(0, colon)), strip(line.substr(colon + 1)));
    }
  }
}

// One request; `buffer` keeps what came after it. Nothing if the client is gone.
std::optional<StubRequest> read_request(StubSocket& socket, std::string& buffer) {
  auto head = std::string::npos;
  while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!socket.read_some(buffer)) return {};
  }
  StubRequest request;
  parse_head(buffer.substr(0, head + 4), request);
  const std::string length = request.header("content-length");
  const std::size_t end = head + 4 + (length.empty() ? 0 : std::stoul(length));
  while (buffer.size() < end) {
    if (!socket.read_some(buffer)) return {};
  }
  request.raw = buffer.substr(0, end);
  request.body = request.raw.substr(head + 4);
  buffer.erase(0, end);
  request.at = std::chrono::steady_clock::now();
  return request;
}

std::string head_of(const StubReply& reply, std::size_t length) {
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " Stub\r\n";
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  if (reply.status != 204 && reply.status != 304) head += "Content-Length: " + std::to_string(length) + "\r\n";
  return head + "\r\n";
}

}  // namespace

std::string StubRequest::header(const std::string& name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? "" : found->second;
}

std::size_t StubRequest::count(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::count(headers, name, &std::pair<std::string, std::string>::first));
}

class HttpStub::State {
 public:
  State(Script script, const Tls* tls) : script_(std::move(script)) {
    if (tls != nullptr) tls_.emplace(tls->certificate_file, tls->key_file, tls->client_ca_file);
    listener_ = StubListener::listen(0);
    port_ = listener_->port();
    start_accepting();
  }

  ~State() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    go_down();
  }

  void go_down() {
    if (!listener_) return;
    listener_->stop();
    accepting_.join();
    listener_.reset();
    std::list<std::jthread> threads;
    {
      const std::lock_guard lock(mutex_);
      down_ = true;
      for (StubSocket* socket : sockets_) socket->shut_down();
      threads.swap(threads_);
    }
    changed_.notify_all();
    threads.clear();
  }

  void come_up() {
    {
      const std::lock_guard lock(mutex_);
      down_ = false;
    }
    listener_ = StubListener::listen(port_);
    start_accepting();
  }

  void set_released(bool released) {
    {
      const std::lock_guard lock(mutex_);
      released_ = released;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Script script_;
  std::vector<StubRequest> requests_;
  std::size_t count_ = 0;
  bool keeps_ = true;
  std::size_t connections_ = 0;
  int port_ = 0;

 private:
  void start_accepting() {
    accepting_ = std::jthread([this] {
      while (auto fd = listener_->accept()) {
        const std::lock_guard lock(mutex_);
        const std::size_t number = ++connections_;
        threads_.emplace_back([this, fd = *fd, number] { serve(fd, number); });
      }
    });
  }

  void serve(int fd, std::size_t number) {
    StubSocket socket(fd, tls_ ? &*tls_ : nullptr);
    {
      const std::lock_guard lock(mutex_);
      if (down_ || stopping_) return;
      sockets_.insert(&socket);
    }
    if (socket.handshake()) converse(socket, number);
    const std::lock_guard lock(mutex_);
    sockets_.erase(&socket);
  }

  void converse(StubSocket& socket, std::size_t number) {
    std::string buffer;
    while (auto request = read_request(socket, buffer)) {
      request->connection = number;
      if (!answer(socket, *std::move(request))) return;
    }
  }

  // False: the connection is to end.
  bool answer(StubSocket& socket, StubRequest request) {
    std::unique_lock lock(mutex_);
    const StubReply reply = script_ ? script_(request) : StubReply{};
    ++count_;
    if (keeps_) requests_.push_back(std::move(request));
    changed_.notify_all();
    const bool hangs = reply.manner == StubReply::Manner::hang;
    if (hangs) changed_.wait(lock, [&] { return over(); });
    if (reply.delay.count() > 0) changed_.wait_for(lock, reply.delay, [&] { return over(); });
    if (down_ || stopping_) return false;
    lock.unlock();
    switch (reply.manner) {
      case StubReply::Manner::close: return false;
      case StubReply::Manner::reset: socket.reset_on_close(); return false;
      case StubReply::Manner::raw: socket.write(reply.body); return false;
      case StubReply::Manner::trickle: return trickle(socket, reply);
      case StubReply::Manner::hang:
      case StubReply::Manner::whole: break;
    }
    return socket.write(head_of(reply, reply.body.size()) + reply.body);
  }

  bool trickle(StubSocket& socket, const StubReply& reply) {
    if (!socket.write(head_of(reply, 1'000'000))) return false;
    std::unique_lock lock(mutex_);
    while (!over()) {
      lock.unlock();
      if (!socket.write("x")) return false;
      lock.lock();
      changed_.wait_for(lock, reply.pause, [&] { return over(); });
    }
    return false;
  }

  bool over() const { return released_ || down_ || stopping_; }

  std::optional<StubTls> tls_;
  std::unique_ptr<StubListener> listener_;
  std::jthread accepting_;
  std::list<std::jthread> threads_;
  std::set<StubSocket*> sockets_;
  bool released_ = false;
  bool down_ = false;
  bool stopping_ = false;
};

HttpStub::HttpStub(Script script, const Tls* tls) : state_(std::make_unique<State>(std::move(script), tls)) {}
HttpStub::~HttpStub() = default;

int HttpStub::port() const { return state_->port_; }

std::string HttpStub::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(state_->port_) + path;
}

void HttpStub::set_script(Script script) {
  const std::lock_guard lock(state_->mutex_);
  state_->script_ = std::move(script);
}

void HttpStub::keep_requests(bool keep) {
  const std::lock_guard lock(state_->mutex_);
  state_->keeps_ = keep;
}

void HttpStub::release() { state_->set_released(true); }
void HttpStub::hold() { state_->set_released(false); }
void HttpStub::go_down() { state_->go_down(); }
void HttpStub::come_up() { state_->come_up(); }

std::vector<StubRequest> HttpStub::requests() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->requests_;
}

std::size_t HttpStub::request_count() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->count_;
}

std::size_t HttpStub::connection_count() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->connections_;
}

bool HttpStub::wait_for_requests(std::size_t count, std::chrono::milliseconds deadline) const {
  std::unique_lock lock(state_->mutex_);
  return state_->changed_.wait_for(lock, deadline, [&] { return state_->count_ >= count; });
}

int closed_port() {
  const auto listener = StubListener::listen(0);
  return listener->port();
}

}  // namespace outbox::test
