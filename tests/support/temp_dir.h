// TempDir: a folder that goes away with the test.
#pragma once

#include <filesystem>
#include <string>

namespace outbox::test {

class TempDir {
 public:
  // A new, empty folder below $TMPDIR, or /tmp. Throws std::system_error.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Whole files, as bytes. Both throw std::runtime_error with the path.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace outbox::test
