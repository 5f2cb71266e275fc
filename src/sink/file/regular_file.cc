#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sink/file/fault.h"
#include "sink/file/line_output.h"

namespace outbox::file {
namespace {

constexpr std::string_view kLineStart = R"({"id":")";
constexpr off_t kTailChunk = 64 * 1024;

// Where the last line of the file begins: behind the last line feed. -1: it cannot be read.
off_t last_line(int fd, off_t size) {
  std::array<char, kTailChunk> chunk;
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - kTailChunk);
    const ssize_t got = ::pread(fd, chunk.data(), static_cast<std::size_t>(end - begin), begin);
    if (got != end - begin) return -1;
    const auto at = std::string_view(chunk.data(), static_cast<std::size_t>(got)).rfind('\n');
    if (at != std::string_view::npos) return begin + static_cast<off_t>(at) + 1;
    end = begin;
  }
  return 0;
}

// True if what a crash left behind at `begin` is ours to cut: the start of one of our lines, or the zeros that some
// file systems show for bytes that were never written.
bool torn(int fd, off_t begin, off_t size) {
  std::array<char, kLineStart.size()> start{};
  const auto length = static_cast<std::size_t>(std::min<off_t>(size - begin, static_cast<off_t>(start.size())));
  if (::pread(fd, start.data(), length, begin) != static_cast<ssize_t>(length)) return false;
  const std::string_view text(start.data(), length);
  return text == kLineStart.substr(0, length) || std::ranges::all_of(text, [](char c) { return c == '\0'; });
}

class RegularFile : public LineOutput {
 public:
  explicit RegularFile(std::string path) : path_(std::move(path)) {}
  ~RegularFile() override { close(); }

  Fault begin() override {
    if (fd_ >= 0 && moved_away()) close();
    if (fd_ < 0) {
      if (Fault failed = open()) {
        close();
        return failed;
      }
    }
    struct stat now {};
    if (::fstat(fd_, &now) != 0) return fault("read", path_, errno);
    begin_ = now.st_size;
    return {};
  }

  Fault write(std::string_view lines) override {
    while (!lines.empty()) {
      const ssize_t written = ::write(fd_, lines.data(), lines.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return fault("write", path_, errno);
      lines.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  Fault sync() override {
    if (::fdatasync(fd_) != 0) return fault("sync", path_, errno);
    return {};
  }

  // A failed sync may have dropped the very pages that it reports, so the next batch opens the file afresh. If even
  // the cut fails, the next open finds the torn line.
  void roll_back() override {
    if (fd_ < 0) return;
    struct stat now {};
    const bool longer = ::fstat(fd_, &now) == 0 && now.st_size > begin_;
    if (longer && ::ftruncate(fd_, begin_) == 0) ::fdatasync(fd_);
    close();
  }

  std::uint64_t offset() const override { return static_cast<std::uint64_t>(begin_); }

 private:
  Fault open() {
    fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (fd_ < 0) return fault("open", path_, errno);
    struct stat now {};
    if (::fstat(fd_, &now) != 0) return fault("open", path_, errno);
    if (!S_ISREG(now.st_mode)) {
      return busy(Scope::destination, "cannot_open", path_ + " is not a regular file; for a pipe use type: stdout");
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      return busy(Scope::destination, "locked",
                  path_ + " is being written by another sink or relay; give each its own");
    }
    device_ = now.st_dev;
    inode_ = now.st_ino;
    if (now.st_size == 0) return sync_folder();
    return mend_end(now.st_size);
  }

  Fault mend_end(off_t size) {
    const off_t begin = last_line(fd_, size);
    if (begin < 0) return fault("read", path_, EIO);
    if (begin == size) return {};
    if (!torn(fd_, begin, size)) return write("\n");
    if (::ftruncate(fd_, begin) != 0) return fault("cut the torn last line of", path_, errno);
    return {};
  }

  // A new file survives a crash only if its name in the folder does.
  Fault sync_folder() {
    const auto slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fault("open", folder, errno);
    const bool synced = ::fsync(fd) == 0;
    const int error = errno;
    ::close(fd);
    if (!synced && error != EINVAL) return fault("sync", folder, error);
    return {};
  }

  bool moved_away() const {
    struct stat there {};
    return ::stat(path_.c_str(), &there) != 0 || there.st_ino != inode_ || there.st_dev != device_;
  }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const std::string path_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t begin_ = 0;
};

}  // namespace

std::unique_ptr<LineOutput> open_file(std::string path) { return std::make_unique<RegularFile>(std::move(path)); }

}  // namespace outbox::file
