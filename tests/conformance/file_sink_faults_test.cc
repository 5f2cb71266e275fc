// What happens to files: crashes, rotation, full disks, second writers, pipes without readers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "sink/file/file_sink.h"
#include "sink/file/line_sink.h"
#include "support/completion_log.h"
#include "support/eventually.h"
#include "support/json_lines.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

class FileSinkTest : public testing::Test {
 protected:
  ~FileSinkTest() override {
    if (sink_) sink_->close();
  }

  std::string path() const { return dir_.file("audit.jsonl"); }

  void open(const std::string& file) {
    if (sink_) sink_->close();
    const SinkType type = file_sink();
    sink_ = type.create("audit", config::parse_values(type.options, {{"path", file}})).value();
    ASSERT_TRUE(sink_->open(log_));
  }

  Outcome send(int number, const std::string& file, std::string payload = "{}") {
    const Publication one = publication(++last_id_, make_record(number, "a", std::move(payload)), file);
    sink_->publish({&one, 1});
    return log_.wait_for(one.id);
  }

  static std::vector<std::string> ids(const std::string& text) {
    std::vector<std::string> all;
    for (const auto& line : parse_json_lines(text)) all.push_back(line.id);
    return all;
  }

  TempDir dir_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

using Ids = std::vector<std::string>;

TEST_F(FileSinkTest, ReceiptsSayWhereTheLineIs) {
  open(path());
  EXPECT_EQ(send(1, path()).detail, path() + "@0");
  const std::size_t first = read_file(path()).size();
  EXPECT_EQ(send(2, path()).detail, path() + "@" + std::to_string(first));
}

TEST_F(FileSinkTest, ALineThatACrashBrokeOffIsCut) {
  for (const std::string& torn : {std::string("{"), std::string(R"({"id":"m-2","aggreg)"), std::string(5, '\0'),
                                  R"({"id":"m-2","x":")" + std::string(300'000, 'x')}) {
    write_file(path(), R"({"id":"m-1"})"
                       "\n" +
                           torn);
    open(path());
    EXPECT_EQ(send(2, path()).verdict, Verdict::delivered);
    const std::string text = read_file(path());
    EXPECT_TRUE(text.starts_with(R"({"id":"m-1"})"
                                 "\n{\"id\":\"m-2\",\"aggregate_type\""))
        << text.substr(0, 100);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  }
}

TEST_F(FileSinkTest, WhatIsNotOursIsNeverCut) {
  write_file(path(), "notes of somebody else, without a line feed");
  open(path());
  EXPECT_EQ(send(1, path()).verdict, Verdict::delivered);
  EXPECT_TRUE(read_file(path()).starts_with("notes of somebody else, without a line feed\n{\"id\":\"m-1\""));
}

TEST_F(FileSinkTest, RotationIsNoticed) {
  open(path());
  EXPECT_EQ(send(1, path()).verdict, Verdict::delivered);
  std::filesystem::rename(path(), path() + ".1");
  EXPECT_EQ(send(2, path()).verdict, Verdict::delivered);
  EXPECT_EQ(ids(read_file(path() + ".1")), Ids{"m-1"});
  EXPECT_EQ(ids(read_file(path())), Ids{"m-2"});
  std::filesystem::remove(path());
  EXPECT_EQ(send(3, path()).verdict, Verdict::delivered);
  EXPECT_EQ(ids(read_file(path())), Ids{"m-3"});
  std::filesystem::resize_file(path(), 0);  // as copytruncate does
  EXPECT_EQ(send(4, path()).verdict, Verdict::delivered);
  EXPECT_EQ(ids(read_file(path())), Ids{"m-4"});
}

TEST_F(FileSinkTest, ASecondWriterIsKeptOut) {
  open(path());
  EXPECT_EQ(send(1, path()).verdict, Verdict::delivered);
  const SinkType type = file_sink();
  auto second = type.create("other", config::parse_values(type.options, {{"path", path()}})).value();
  CompletionLog log;
  ASSERT_TRUE(second->open(log));
  const Publication one = publication(1, make_record(2, "a"), path());
  second->publish({&one, 1});
  EXPECT_EQ(log.wait_for(1).reason, "locked");
  EXPECT_EQ(log.wait_for(1).scope, Scope::destination);
  sink_->close();
  ASSERT_TRUE(second->reopen());
  const Publication again = publication(2, make_record(2, "a"), path());
  second->publish({&again, 1});
  EXPECT_EQ(log.wait_for(2).verdict, Verdict::delivered);
  second->close();
  EXPECT_EQ(ids(read_file(path())), (Ids{"m-1", "m-2"}));
}

TEST_F(FileSinkTest, OnlyRegularFiles) {
  open(path());
  EXPECT_EQ(send(1, dir_.path().string()).reason, "cannot_open");
  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(send(2, "/dev/null").reason, "cannot_open");
}

// A disk of its own, so small that it fills up.
class FullDisk : public FileSinkTest {
 protected:
  void SetUp() override {
    disk_ = dir_.file("disk");
    std::filesystem::create_directory(disk_);
    mounted_ = ::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!mounted_) GTEST_SKIP() << "cannot mount a tmpfs here: " << std::strerror(errno);
  }
  ~FullDisk() override {
    if (sink_) sink_->close();
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullDisk, LeavesNoHalfLineAndGoesOnWhenThereIsSpace) {
  const std::string file = disk_ + "/audit.jsonl";
  write_file(disk_ + "/ballast", std::string(16'384, 'x'));
  open(file);
  int number = 0;
  Outcome outcome;
  do {
    outcome = send(++number, file, "\"" + std::string(3'000, 'x') + "\"");
  } while (outcome.verdict == Verdict::delivered && number < 100);
  EXPECT_EQ(outcome.verdict, Verdict::busy);
  EXPECT_EQ(outcome.scope, Scope::sink);
  EXPECT_EQ(outcome.reason, "disk_full");
  EXPECT_NE(outcome.detail.find(file), std::string::npos) << outcome.detail;
  EXPECT_EQ(ids(read_file(file)).size(), static_cast<std::size_t>(number - 1));

  std::filesystem::remove(disk_ + "/ballast");
  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(send(number, file, "\"" + std::string(3'000, 'x') + "\"").verdict, Verdict::delivered);
  EXPECT_EQ(ids(read_file(file)).size(), static_cast<std::size_t>(number));
}

class PipeSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    sink_ = file::make_line_sink([this](const std::string&, const file::Waker& stop) {
      return file::open_descriptor(ends_[1], "standard output", stop);
    });
    ASSERT_TRUE(sink_->open(log_));
  }
  ~PipeSinkTest() override {
    sink_->close();
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  DeliveryId publish(std::string payload) {
    const Publication one = publication(++last_id_, make_record(1, "a", std::move(payload)), "stdout");
    sink_->publish({&one, 1});
    return one.id;
  }

  int ends_[2] = {-1, -1};
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

TEST_F(PipeSinkTest, CloseDoesNotWaitForASleepingReader) {
  const DeliveryId id = publish("\"" + std::string(1'000'000, 'x') + "\"");
  int waiting = 0;
  ASSERT_TRUE(eventually(std::chrono::seconds(30), [&] {
    std::vector<char> page(4096);
    const bool got = ::read(ends_[0], page.data(), page.size()) > 0;
    return got && ++waiting >= 2;
  }));
  sink_->close();
  EXPECT_EQ(log_.wait_for(id).verdict, Verdict::unknown);
  EXPECT_EQ(log_.wait_for(id).reason, "closed");
}

TEST_F(PipeSinkTest, NoReaderIsNoCrash) {
  close_end(0);
  const Outcome outcome = log_.wait_for(publish("{}"));
  EXPECT_EQ(outcome.verdict, Verdict::busy);
  EXPECT_EQ(outcome.scope, Scope::sink);
  EXPECT_EQ(outcome.reason, "no_reader");
}

}  // namespace
}  // namespace outbox::test
