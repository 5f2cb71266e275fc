#include "sink/file/line_sink.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "sink/file/fault.h"

namespace outbox::file {
namespace {

// Outputs in memory: what is synced, what is only written, and which step fails next.
struct FakeDisk {
  struct File {
    std::string durable;
    std::string written;
    int syncs = 0;
  };
  std::map<std::string, File> files;
  std::string fail_step;  // "open", "write", "sync"
  std::string fail_path;
  int error = ENOSPC;

  Fault failing(std::string_view step, const std::string& path) const {
    if (step != fail_step || path != fail_path) return {};
    return fault(step, path, error);
  }
};

class FakeOutput : public LineOutput {
 public:
  FakeOutput(FakeDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  Fault begin() override {
    begin_ = file().durable.size();
    return disk_.failing("open", path_);
  }
  Fault write(std::string_view lines) override {
    // Half of it arrives, as on a full disk.
    if (Fault failed = disk_.failing("write", path_)) {
      file().written += lines.substr(0, lines.size() / 2);
      return failed;
    }
    file().written += lines;
    return {};
  }
  Fault sync() override {
    if (Fault failed = disk_.failing("sync", path_)) return failed;
    file().durable = file().written;
    ++file().syncs;
    return {};
  }
  void roll_back() override {
    file().durable.resize(begin_);
    file().written = file().durable;
  }
  std::uint64_t offset() const override { return begin_; }

 private:
  FakeDisk::File& file() { return disk_.files[path_]; }
  FakeDisk& disk_;
  const std::string path_;
  std::size_t begin_ = 0;
};

class Log : public CompletionListener {
 public:
  void completed(std::vector<Completion> completions) override {
    const std::lock_guard lock(mutex_);
    for (auto& each : completions) outcomes_[each.id] = std::move(each.outcome);
    changed_.notify_all();
  }
  Outcome wait_for(DeliveryId id) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return outcomes_.contains(id); });
    return outcomes_[id];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<DeliveryId, Outcome> outcomes_;
};

class LineSinkTest : public testing::Test {
 protected:
  LineSinkTest()
      : sink_(make_line_sink(
            [this](const std::string& path, const Waker&) { return std::make_unique<FakeOutput>(disk_, path); })) {
    EXPECT_TRUE(sink_->open(log_));
  }
  ~LineSinkTest() override { sink_->close(); }

  static Publication publication(DeliveryId id, const std::string& key, const std::string& path) {
    auto record = std::make_shared<Record>();
    record->id = "m-" + std::to_string(id);
    record->key = key;
    record->payload = "{}";
    return {id, record, path, 1};
  }

  FakeDisk disk_;
  Log log_;
  std::unique_ptr<Sink> sink_;
};

TEST_F(LineSinkTest, ConfirmsOnlyWhatIsDurable) {
  const std::vector<Publication> batch{publication(1, "a", "x"), publication(2, "b", "y"), publication(3, "a", "x")};
  sink_->publish(batch);
  for (DeliveryId id = 1; id <= 3; ++id) EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  sink_->close();
  EXPECT_EQ(disk_.files["x"].syncs, 1);
  EXPECT_EQ(disk_.files["y"].syncs, 1);
  EXPECT_EQ(std::count(disk_.files["x"].durable.begin(), disk_.files["x"].durable.end(), '\n'), 2);
}

TEST_F(LineSinkTest, ABatchIsAllOrNothingOverAllItsOutputs) {
  DeliveryId id = 0;
  for (const char* step : {"open", "write", "sync"}) {
    disk_.files.clear();
    disk_.fail_step = step;
    disk_.fail_path = "y";
    disk_.error = EIO;
    const DeliveryId first = ++id, second = ++id, third = ++id;
    const std::vector<Publication> batch{publication(first, "a", "x"), publication(second, "b", "y"),
                                         publication(third, "a", "x")};
    sink_->publish(batch);
    // A path is its destination's matter, a disk everybody's.
    const Verdict others = step == std::string("open") ? Verdict::client_dead : Verdict::busy;
    EXPECT_EQ(log_.wait_for(first).verdict, others) << step;
    EXPECT_EQ(log_.wait_for(second).verdict, Verdict::busy) << step;
    EXPECT_EQ(log_.wait_for(third).verdict, others) << step;
    EXPECT_TRUE(sink_->reopen());
    EXPECT_EQ(disk_.files["x"].written, "") << step;
    EXPECT_EQ(disk_.files["y"].written, "") << step;
  }
}

// Each try of the relay tells the reason, and none needs a reopen().
TEST_F(LineSinkTest, AFailureStaysTheSameUntilItIsMended) {
  disk_.fail_step = "open";
  disk_.fail_path = "x";
  disk_.error = ENOENT;
  DeliveryId id = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    Publication again = publication(++id, "a", "x");
    again.first_in_key = true;
    sink_->publish({&again, 1});
    const Outcome outcome = log_.wait_for(id);
    EXPECT_EQ(outcome.verdict, Verdict::busy);
    EXPECT_EQ(outcome.scope, Scope::destination);
    EXPECT_EQ(outcome.reason, "cannot_open");
  }
  disk_.fail_step.clear();
  Publication last = publication(++id, "a", "x");
  last.first_in_key = true;
  sink_->publish({&last, 1});
  EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
}

TEST_F(LineSinkTest, NothingOfAKeyPassesAFailureBeforeTheRelayHasTakenNote) {
  disk_.fail_step = "open";
  disk_.fail_path = "x";
  const Publication first = publication(1, "a", "x");
  sink_->publish({&first, 1});
  EXPECT_EQ(log_.wait_for(1).verdict, Verdict::busy);

  disk_.fail_step.clear();
  const Publication behind = publication(2, "a", "x");
  sink_->publish({&behind, 1});
  EXPECT_EQ(log_.wait_for(2).verdict, Verdict::busy);
  const Publication other_key = publication(3, "b", "x");
  sink_->publish({&other_key, 1});
  EXPECT_EQ(log_.wait_for(3).verdict, Verdict::delivered);

  std::vector<Publication> again{publication(4, "a", "x"), publication(5, "a", "x")};
  again[0].first_in_key = true;
  sink_->publish(again);
  EXPECT_EQ(log_.wait_for(4).verdict, Verdict::delivered);
  EXPECT_EQ(log_.wait_for(5).verdict, Verdict::delivered);
}

// The same for a key whose next message goes elsewhere: it did not fail itself, so the sink is dead.
TEST_F(LineSinkTest, NothingPassesAFailureElsewhereBeforeReopen) {
  disk_.fail_step = "open";
  disk_.fail_path = "x";
  disk_.error = EACCES;
  const Publication first = publication(1, "a", "x");
  sink_->publish({&first, 1});
  EXPECT_EQ(log_.wait_for(1).scope, Scope::destination);
  const Publication second = publication(2, "a", "z");
  sink_->publish({&second, 1});
  EXPECT_EQ(log_.wait_for(2).verdict, Verdict::client_dead);
  const Publication third = publication(3, "b", "z");
  sink_->publish({&third, 1});
  EXPECT_EQ(log_.wait_for(3).verdict, Verdict::client_dead);

  ASSERT_TRUE(sink_->reopen());
  const Publication fourth = publication(4, "a", "z");
  sink_->publish({&fourth, 1});
  EXPECT_EQ(log_.wait_for(4).verdict, Verdict::delivered);
}

TEST_F(LineSinkTest, AFullDiskIsEverybodysMatter) {
  disk_.fail_step = "write";
  disk_.fail_path = "x";
  const Publication first = publication(1, "a", "x");
  sink_->publish({&first, 1});
  EXPECT_EQ(log_.wait_for(1).reason, "disk_full");
  EXPECT_EQ(log_.wait_for(1).scope, Scope::sink);
  const Publication second = publication(2, "a", "z");
  sink_->publish({&second, 1});
  EXPECT_EQ(log_.wait_for(2).reason, "disk_full");
}

TEST_F(LineSinkTest, ManyDestinationsKeepFewFilesOpen) {
  std::vector<Publication> batch;
  for (DeliveryId id = 1; id <= 1000; ++id) batch.push_back(publication(id, "a", "file-" + std::to_string(id % 300)));
  sink_->publish(batch);
  for (DeliveryId id = 1; id <= 1000; ++id) EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  sink_->close();
  EXPECT_EQ(disk_.files.size(), 300u);
}

TEST(Fault, SaysWhoseItIsAndWhatToDo) {
  EXPECT_EQ(fault("write", "/x", ENOSPC).reason, "disk_full");
  EXPECT_EQ(fault("open", "/x", ENOSPC).scope, Scope::sink);
  EXPECT_EQ(fault("open", "/x", EMFILE).scope, Scope::sink);
  EXPECT_EQ(fault("open", "/x", EACCES).scope, Scope::destination);
  EXPECT_EQ(fault("open", "/x", ENOENT).reason, "cannot_open");
  EXPECT_EQ(fault("sync", "/x", EIO).reason, "io_error");
  EXPECT_EQ(fault("sync", "/x", EIO).scope, Scope::sink);
  EXPECT_EQ(fault("write", "/var/audit.jsonl", ENOSPC).detail,
            "cannot write /var/audit.jsonl: No space left on device; free some space on that file system");
}

}  // namespace
}  // namespace outbox::file
