#include "store/sqlite/leases.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "db/sqlite_table.h"

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
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "(unnamed: the disk was full)";
  }
  // For people only: a full disk takes nothing from the lock.
  void write_holder(const std::string& relay) const {
    if (::ftruncate(descriptor_, 0) != 0) return;
    if (::pwrite(descriptor_, relay.data(), relay.size(), 0) < 0) return;
  }

 private:
  int descriptor_;
};

class SqliteLeases : public Leases {
 public:
  explicit SqliteLeases(const std::string& file) : application_(file), path_(file + "-outboxd.lock") {}

  Result<Roster> renew(const std::string& relay, const std::string& process, const std::vector<std::string>& feeds,
                       Duration) override {
    if (!file_) {
      // No lock beside a database that is not there.
      if (auto application = db::open_application(application_, db::Sqlite::Mode::read); !application) {
        return application.failure();
      }
      const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      if (descriptor < 0) return failure();
      file_ = std::make_unique<LockFile>(descriptor);
    }
    if (!owned_ && file_->lock()) {
      file_->write_holder(relay);
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
  Failure failure() const {
    return {FailureKind::local, "cannot open the lock file " + path_ + ": " + std::strerror(errno) +
                                    "; the relay keeps it beside the database"};
  }

  std::string application_;
  std::string path_;
  std::unique_ptr<LockFile> file_;
  bool owned_ = false;
};

}  // namespace

std::unique_ptr<Leases> make_sqlite_leases(const std::string& file) { return std::make_unique<SqliteLeases>(file); }

}  // namespace outbox
