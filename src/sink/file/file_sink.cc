#include "sink/file/file_sink.h"

#include <unistd.h>

#include <array>

#include "sink/file/line_sink.h"
#include "sink/file/path_field.h"

namespace outbox {
namespace {

using config::Option;
using config::OptionType;

constexpr std::array kFileOptions{
    Option{"path", OptionType::text, "outbox.jsonl",
           "The file to append to; its folder has to exist. May name fields of the "
           "message: audit-{aggregate_type}.jsonl.",
           true},
};

Result<std::unique_ptr<Sink>> create_file(std::string_view, const config::Values&) {
  return file::make_line_sink([](const std::string& path, const file::Waker&) { return file::open_file(path); });
}

Result<std::unique_ptr<Sink>> create_stdout(std::string_view, const config::Values&) {
  return file::make_line_sink([](const std::string&, const file::Waker& stop) {
    return file::open_descriptor(STDOUT_FILENO, "standard output", stop);
  });
}

}  // namespace

SinkType file_sink() {
  return {.name = "file",
          .summary = "appends one JSON object a line to a file, synced to disk before it is confirmed",
          .options = kFileOptions,
          .address_option = "path",
          .default_address = [](const config::Values& options) { return options.text("path"); },
          .create = create_file,
          .escape_field = file::escape_path_field};
}

SinkType stdout_sink() {
  return {.name = "stdout",
          .summary = "prints one JSON object a line to standard output",
          .options = {},
          .address_option = "",
          .default_address = [](const config::Values&) { return std::string("stdout"); },
          .create = create_stdout};
}

}  // namespace outbox
