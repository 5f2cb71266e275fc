#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sink/file/fault.h"
#include "sink/file/line_output.h"

namespace outbox::file {
namespace {

// A pipe or a terminal: what was written is gone, so a line that broke off is ended at the next try. A reader sees
// half a line then, and the whole message after it.
class Descriptor : public LineOutput {
 public:
  Descriptor(int fd, std::string name, const Waker& waker) : fd_(fd), name_(std::move(name)), waker_(waker) {}

  Fault begin() override {
    if (!torn_) return {};
    torn_ = false;
    return write("\n");
  }

  Fault write(std::string_view lines) override {
    while (!lines.empty()) {
      if (Fault failed = wait()) return failed;
      // That much never blocks once poll(2) has said that the pipe takes something.
      const ssize_t written = ::write(fd_, lines.data(), std::min<std::size_t>(lines.size(), PIPE_BUF));
      if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (written < 0) return fault("write", name_, errno);
      const auto taken = static_cast<std::size_t>(written);
      if (taken > 0) torn_ = lines[taken - 1] != '\n';
      lines.remove_prefix(taken);
    }
    return {};
  }

  // Standard output that was redirected into a file is as durable as a file; for others nothing can be asked.
  Fault sync() override {
    struct stat what {};
    if (::fstat(fd_, &what) != 0 || !S_ISREG(what.st_mode) || ::fdatasync(fd_) == 0) return {};
    return fault("sync", name_, errno);
  }

  void roll_back() override {}
  std::uint64_t offset() const override { return 0; }

 private:
  Fault wait() const {
    pollfd ready[] = {{fd_, POLLOUT, 0}, {waker_.descriptor(), POLLIN, 0}};
    while (::poll(ready, 2, -1) < 0) {
      if (errno != EINTR) return fault("write", name_, errno);
    }
    if (ready[1].revents != 0) return unknown("closed", "the sink was closed before the message was written");
    return {};
  }

  const int fd_;
  const std::string name_;
  const Waker& waker_;
  bool torn_ = false;
};

}  // namespace

std::unique_ptr<LineOutput> open_descriptor(int descriptor, std::string name, const Waker& waker) {
  return std::make_unique<Descriptor>(descriptor, std::move(name), waker);
}

}  // namespace outbox::file
