#include "store/sqlite/leases.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace outbox {

namespace {

class LockFile {
 public:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  ~LockFile() { ::close(descriptor_); }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  bool lock() const { return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0; }
  // The name of the relay that has, or had, the lock.
  std::string holder() const {
    std::array<char, 512> text{};
    const auto size = ::pread(descriptor_, text.data(), text.size(), 0);
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }
  bool write_holder(const std::string& relay) const {
    return ::ftruncate(descriptor_, 0) == 0 &&
           ::pwrite(descriptor_, relay.data(), relay.size(), 0) == static_cast<ssize_t>(relay.size());
  }

 private:
  int descriptor_;
};

class SqliteLeases : public Leases {
 public:
  explicit SqliteLeases(const std::string& file) : path_(file + "-outboxd.lock") {}

  Result<Roster> renew(const std::string& relay, const std::string& process, const std::vector<std::string>& feeds,
                       Duration) override {
    if (!file_) {
      const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      if (descriptor < 0) return failure("cannot open");
      file_ = std::make_unique<LockFile>(descriptor);
    }
    if (!owned_ && file_->lock()) {
      if (!file_->write_holder(relay)) return failure("cannot write to");
      owned_ = true;
    }
    const std::string owner = owned_ ? relay : file_->holder();
    Roster roster;
    for (const std::string& feed : feeds) {
      roster.holders.push_back({feed, owner, owned_ ? process : ""});
      roster.shares.push_back({feed, {}, owner});
    }
    return roster;
  }

  Result<void> give(const std::string&, const Share& share, int) override {
    return Failure{FailureKind::invalid, "sqlite: the lanes of " + share.feed + " are not divided: one relay has all"};
  }

  Result<void> end(const std::string&) override {
    owned_ = false;
    file_.reset();
    return {};
  }

 private:
  Failure failure(const char* what) const {
    return {FailureKind::local, std::string(what) + " the lock file " + path_ + ": " + std::strerror(errno) +
                                    "; the relay keeps it beside the database"};
  }

  std::string path_;
  std::unique_ptr<LockFile> file_;
  bool owned_ = false;
};

}  // namespace

std::unique_ptr<Leases> make_sqlite_leases(const std::string& file) { return std::make_unique<SqliteLeases>(file); }

}  // namespace outbox
