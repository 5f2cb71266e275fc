#include "source/poll/flagged_source.h"
#include "source/poll/snapshot_source.h"
#include "source/poll/table_shape.h"

namespace outbox {

std::unique_ptr<Source> make_postgres_source(const std::string& url, const TableShape& shape, const Lanes& lanes) {
  if (shape.table.sent == SentMode::keep) return std::make_unique<SnapshotSource>(url, shape, lanes);
  return std::make_unique<FlaggedSource>(url, shape);
}

}  // namespace outbox
