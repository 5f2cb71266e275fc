#include "support/fault_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "support/loopback.h"

namespace outbox::test {
namespace {

using Clock = std::chrono::steady_clock;

// One end of a connection, and what is on its way to it.
struct End {
  int descriptor = -1;
  FaultPipe incoming;  // from the other end
  bool ended = false;  // it has said that it sends no more
  bool told = false;   // the other end's saying so was passed on
};

enum class Reading { nothing, something, over, broken };

Reading read_into(FaultPipe& pipe, int descriptor, bool drop, const LinkFault& fault) {
  std::array<char, 64 * 1024> bytes;
  const auto got = ::recv(descriptor, bytes.data(), bytes.size(), 0);
  if (got == 0) return Reading::over;
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Reading::nothing : Reading::broken;
  if (!drop) pipe.push({bytes.data(), static_cast<std::size_t>(got)}, Clock::now(), fault);
  return Reading::something;
}

// False: the connection is broken.
bool write_from(FaultPipe& pipe, int descriptor, const LinkFault& fault) {
  for (;;) {
    const auto now = Clock::now();
    const auto part = pipe.ready(now, fault);
    if (part.empty()) return true;
    const auto sent = ::send(descriptor, part.data(), part.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    pipe.pop(static_cast<std::size_t>(sent), now, fault);
  }
}

struct Connection {
  End client;
  End server;

  // False: it is over, or broken. Then both ends are to be closed.
  bool serve(const LinkFault& fault) {
    return turn(client, server, false, fault) && turn(server, client, fault.drop_answers, fault) &&
           !(client.told && server.told);
  }

  // Reads from one end for the other, and writes that.
  static bool turn(End& from, End& to, bool drop, const LinkFault& fault) {
    if (fault.hold) return true;
    if (!from.ended && !to.incoming.full()) {
      const Reading reading = read_into(to.incoming, from.descriptor, drop, fault);
      if (reading == Reading::broken) return false;
      from.ended = reading == Reading::over;
    }
    if (!write_from(to.incoming, to.descriptor, fault)) return false;
    if (from.ended && to.incoming.empty() && !to.told) {
      ::shutdown(to.descriptor, SHUT_WR);
      to.told = true;
    }
    return true;
  }

  void reset() const {
    close_with_reset(client.descriptor);
    close_with_reset(server.descriptor);
  }
  void close() const {
    ::close(client.descriptor);
    ::close(server.descriptor);
  }
};

}  // namespace

class FaultProxy::Loop {
 public:
  Loop(int target_port, int port) : target_port_(target_port), listener_(listen_on_loopback(port)) {
    port_ = port_of(listener_);
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Loop() {
    thread_.request_stop();
    ring();
    thread_.join();
    for (const auto& connection : connections_) connection.reset();
    if (listener_ >= 0) ::close(listener_);
    ::close(bell_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  int port() const { return port_; }

  void order(const LinkFault* fault, bool cut) {
    std::unique_lock lock(mutex_);
    if (fault != nullptr) wanted_ = *fault;
    cut_ = cut_ || cut;
    const auto mine = ++ordered_;
    ring();
    obeyed_changed_.wait(lock, [&] { return obeyed_ >= mine; });
  }

  std::vector<FaultPipe::Time> attempts() const {
    const std::lock_guard lock(mutex_);
    return attempts_;
  }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  void run(const std::stop_token& stop) {
    std::vector<pollfd> waited;
    while (!stop.stop_requested()) {
      obey();
      waited.clear();
      waited.push_back({bell_, POLLIN, 0});
      waited.push_back({listener_, POLLIN, 0});  // a negative one is passed over
      for (const auto& connection : connections_) {
        waited.push_back(wanted(connection.client, connection.server));
        waited.push_back(wanted(connection.server, connection.client));
      }
      ::poll(waited.data(), waited.size(), patience());
      std::uint64_t rung = 0;
      [[maybe_unused]] const auto got = ::read(bell_, &rung, sizeof rung);
      for (auto it = connections_.begin(); it != connections_.end();) {
        it = serve(*it) ? std::next(it) : connections_.erase(it);
      }
      if ((waited[1].revents & POLLIN) != 0) accept();
      const std::lock_guard lock(mutex_);
      open_ = connections_.size();
    }
  }

  // What was ordered since; who ordered it is told when it is done.
  void obey() {
    const std::lock_guard lock(mutex_);
    if (obeyed_ == ordered_) return;
    fault_ = wanted_;
    if (fault_.refuse && listener_ >= 0) {
      ::close(listener_);
      listener_ = -1;
    } else if (!fault_.refuse && listener_ < 0) {
      listener_ = listen_on_loopback(port_);
    }
    if (cut_) {
      for (const auto& connection : connections_) connection.reset();
      connections_.clear();
      open_ = 0;
    }
    cut_ = false;
    obeyed_ = ordered_;
    obeyed_changed_.notify_all();
  }

  // The end is asked for nothing while nothing is wanted of it: poll would tell of its death again and again.
  pollfd wanted(const End& end, const End& other) const {
    if (fault_.hold) return {-1, 0, 0};
    short events = 0;
    if (!end.ended && !other.incoming.full()) events |= POLLIN;
    if (!end.incoming.ready(Clock::now(), fault_).empty()) events |= POLLOUT;
    return {events == 0 ? -1 : end.descriptor, events, 0};
  }

  // Milliseconds until something that waits may go on.
  int patience() const {
    const auto now = Clock::now();
    std::optional<FaultPipe::Time> first;
    for (const auto& connection : connections_) {
      for (const auto* end : {&connection.client, &connection.server}) {
        const auto next = end->incoming.next(now, fault_);
        if (next && (!first || *next < *first)) first = next;
      }
    }
    return first ? static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*first - now).count()) : -1;
  }

  bool serve(Connection& connection) const {
    if (connection.serve(fault_)) return true;
    const bool over = connection.client.told && connection.server.told;
    over ? connection.close() : connection.reset();
    return false;
  }

  void accept() {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) return;
      {
        const std::lock_guard lock(mutex_);
        attempts_.push_back(Clock::now());
      }
      if (fault_.turn_away) {
        close_with_reset(client);
        continue;
      }
      connections_.emplace_back();
      connections_.back().client.descriptor = client;
      connections_.back().server.descriptor = connect_to_loopback(target_port_);
    }
  }

  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
  }

  const int target_port_;
  int port_ = 0;
  int listener_;
  int bell_ = -1;
  LinkFault fault_;  // the loop's own, like the connections
  std::list<Connection> connections_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable obeyed_changed_;
  LinkFault wanted_;
  bool cut_ = false;
  std::uint64_t ordered_ = 0;
  std::uint64_t obeyed_ = 0;
  std::vector<FaultPipe::Time> attempts_;
  std::size_t open_ = 0;

  std::jthread thread_;
};

FaultProxy::FaultProxy(int target_port, int port) : loop_(std::make_unique<Loop>(target_port, port)) {}
FaultProxy::~FaultProxy() = default;

int FaultProxy::port() const { return loop_->port(); }
void FaultProxy::set(const LinkFault& fault) { loop_->order(&fault, false); }
void FaultProxy::cut() { loop_->order(nullptr, true); }
std::vector<FaultPipe::Time> FaultProxy::attempts() const { return loop_->attempts(); }
std::size_t FaultProxy::connections() const { return loop_->connections(); }

int port_in(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

std::string with_port(const std::string& url, int port) {
  const auto colon = url.rfind(':');
  return url.substr(0, colon + 1) + std::to_string(port) + url.substr(url.find('/', colon));
}

}  // namespace outbox::test
