// TableMapping: an outbox table by the names that its owner gave it. Our own table is one such mapping.
#pragma once

#include <map>
#include <string>

namespace outbox {

enum class SentMode {
  keep,    // nothing is written per message: the position says what was sent
  mark,    // published_at is written
  remove,  // the row is deleted ("delete" in the configuration)
};

struct TableMapping {
  std::string table = "outbox";  // may be schema-qualified
  std::string prefix;            // of our side tables; schema-qualified where the table is

  // Our column → the table's. An empty name: the table has no such column. Filled with our own names by default; a
  // configuration that names any column starts from what the table really has (source/poll resolves it). Beside the
  // interface's columns a resolved one has "lane": a column that the database computes from the key.
  std::map<std::string, std::string> columns;
  std::map<std::string, std::string> constants;  // e.g. aggregate_type: order

  bool sent_given = false;  // the configuration says how; otherwise the table's shape decides
  SentMode sent = SentMode::keep;
};

}  // namespace outbox
