// The real outboxd in a folder of its own: its configuration, its commands, its admin address.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/temp_dir.h"

namespace outbox::test {

struct Ran {
  int code = -1;  // -1: a signal ended it, or it still ran at the deadline
  std::string out;
  std::string err;
};

struct Page {
  int status = 0;  // 0: nobody answers
  std::string body;
};

class Daemon {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Where all of it runs: outboxd.yaml, and what the configuration names by a relative path.
  std::string file(const std::string& name) const { return folder_.file(name); }
  const std::filesystem::path& path() const { return folder_.path(); }

  void configure(const std::string& yaml) const { write_file(file("outboxd.yaml"), yaml); }

  // A command to its end, at most two minutes.
  Ran run(std::vector<std::string> arguments, const Environment& environment = {}) const;
  // `outboxd run ARGUMENTS`, which goes on.
  std::unique_ptr<ChildProcess> start(std::vector<std::string> arguments = {}, const Environment& environment = {},
                                      const std::vector<std::string>& before = {}) const;
  // `run --once`, as soon as nobody takes a relay that was killed for a living one.
  Ran run_once() const;

 private:
  ProcessOptions options(const Environment& environment) const;
  TempDir folder_;
};

// The port in the relay's log line about its admin address; waits for it. 0 if none comes.
int admin_port(const ChildProcess& relay);
// GET from 127.0.0.1.
Page get(int port, const std::string& path);
// The value of one sample of a page of metrics, as written; empty if there is none.
std::string sample(const std::string& metrics, const std::string& name_and_labels);

std::vector<std::string> lines_of(const std::string& text);

}  // namespace outbox::test
