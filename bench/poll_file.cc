// Table to file: ours, the bare loop of the page SELECT (reads only), and a bare pump (page SELECT, fwrite, fsync).
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "outbox_database.h"
#include "page_reader.h"
#include "report.h"

namespace outbox::bench {

namespace {

// One JSON object a line, as the daemon's file sink writes it, but that nothing is checked or escaped.
void write_line(std::FILE* file, const Row& row) {
  const auto part = [file](std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); };
  part("{\"id\":\"");
  part(row.id);
  part("\",\"aggregate_type\":\"");
  part(row.aggregate_type);
  part("\",\"aggregate_id\":\"");
  part(row.aggregate_id);
  part("\",\"type\":\"");
  part(row.type);
  part("\",\"created_at\":");
  part(std::to_string(row.created_us));
  part(",\"headers\":");
  part(row.headers);
  part(",\"payload\":");
  part(row.payload);
  part("}\n");
}

void sync(std::FILE* file) {
  if (std::fflush(file) != 0 || fsync(fileno(file)) != 0) throw std::runtime_error("the file cannot be written");
}

void pump(const std::string& url, const std::string& path, bool sync_pages) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  read_pages(
      url, [file](const Row& row) { write_line(file, row); },
      [file, sync_pages] {
        if (sync_pages) sync(file);
      });
  sync(file);
  std::fclose(file);
}

void benchmark(const Rig& rig) {
  const std::int64_t rows = rig.rows > 0 ? rig.rows : 500'000;
  const std::string path = rig.folder + "/out.jsonl";
  OutboxDatabase database(rig, "poll_file");
  database.fill(rows, 1024);
  database.rest();
  const std::string configuration = database.configuration(rig, "type: file, path: " + path);
  Report report("poll_file", std::to_string(rows) + " messages of 1 KB from PostgreSQL to a file");
  for (int round = 0; round < rig.rounds; ++round) {
    database.forget_position();
    std::filesystem::remove(path);
    const Usage ours = measure({daemon_path(), "run", "--once", "--config", configuration});
    report.add("outboxd", lines_in(path), ours);
    std::filesystem::remove(path);
    const Usage safe = measure([&] { pump(database.url(), path, true); });
    report.add("bare pump, fsync after each page", lines_in(path), safe);
    std::filesystem::remove(path);
    const Usage bare = measure([&] { pump(database.url(), path, false); });
    report.add("bare pump, fsync at the end", lines_in(path), bare);
    std::filesystem::remove(path);
    report.add("page SELECT only", rows, measure([&] { read_pages(database.url(), [](const Row&) {}); }));
  }
  report.finish(rig, "bare pump, fsync after each page");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
