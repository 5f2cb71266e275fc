// A backup of an SQLite file, and its restoration in place, as sqlite3's own `.backup` and `.restore` do it: the file
// under the name stays the same one.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "db/sqlite.h"

namespace outbox::test {

inline void copy_database(const std::string& from, const std::string& to) {
  auto source = db::Sqlite::open(from, db::Sqlite::Mode::write);
  auto target = db::Sqlite::open(to, db::Sqlite::Mode::create);
  ASSERT_TRUE(source) << source.failure().what;
  ASSERT_TRUE(target) << target.failure().what;
  sqlite3_backup* copy = sqlite3_backup_init(target->handle(), "main", source->handle(), "main");
  ASSERT_NE(copy, nullptr) << target->failure().what;
  EXPECT_EQ(sqlite3_backup_step(copy, -1), SQLITE_DONE);
  EXPECT_EQ(sqlite3_backup_finish(copy), SQLITE_OK);
}

}  // namespace outbox::test
