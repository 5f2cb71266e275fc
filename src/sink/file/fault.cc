#include "sink/file/fault.h"

#include <cerrno>
#include <system_error>

namespace outbox::file {
namespace {

std::string_view advice(int error) {
  switch (error) {
    case ENOSPC: return "free some space on that file system";
    case EDQUOT: return "raise the disk quota or free some space";
    case ENOENT: return "create the folder";
    case EACCES:
    case EPERM: return "let the user that runs outboxd write there";
    case EROFS: return "mount that file system writable";
    case EISDIR:
    case ENOTDIR: return "name a file in an existing folder";
    case ENAMETOOLONG: return "shorten the path";
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    case EFBIG: return "rotate the file or raise the limit on file sizes (ulimit -f)";
    case EPIPE: return "start a reader";
    default: return "look at the disk and the system log";
  }
}

std::string_view word(std::string_view step, int error) {
  if (error == ENOSPC || error == EDQUOT) return "disk_full";
  if (error == EPIPE) return "no_reader";
  return step == "open" ? "cannot_open" : "io_error";
}

// Which files a path leads to is one destination's matter; the disk, its space and our descriptors are everybody's.
Scope scope(std::string_view step, int error) {
  const bool everybody = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE || error == ENOMEM;
  return step == "open" && !everybody ? Scope::destination : Scope::sink;
}

}  // namespace

Outcome fault(std::string_view step, const std::string& path, int error) {
  std::string detail = "cannot ";
  detail.append(step).append(" ").append(path.substr(0, 512)).append(": ");
  detail.append(std::generic_category().message(error)).append("; ").append(advice(error));
  return busy(scope(step, error), std::string(word(step, error)), std::move(detail));
}

}  // namespace outbox::file
