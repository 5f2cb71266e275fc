#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/database.h"
#include "app/settings_file.h"
#include "base/text.h"

namespace outbox::app {

int execute(const InitFlags& flags) {
  const auto settings = load_database_settings(flags.config);
  if (!settings) return kUsage;
  if (flags.capture != "poll") {
    return report({FailureKind::invalid, "--capture " + flags.capture + " is not in this version; use poll"});
  }
  const InitOptions options{settings->outbox.table, flags.payload, flags.capture};
  if (flags.print) {
    const auto sql = schema_sql(settings->database, options);
    if (!sql) return report(sql.failure());
    fmt::print("{}", *sql);
    return kDone;
  }
  const auto done = init_tables(settings->database, options);
  if (!done) return report(done.failure());
  const std::string where = config::printable_database(settings->database);
  if (done->applied.empty()) {
    fmt::print("{}: up to date, version {}\n", where, done->version);
  } else {
    fmt::print("{}: version {}, applied {}\n", where, done->version, join(done->applied, ", "));
  }
  return kDone;
}

}  // namespace outbox::app
