// SqlFile: a file of sql/, compiled into the binary (outbox_embed_sql in cmake/OutboxModule.cmake).
#pragma once

#include <span>
#include <string_view>

namespace outbox {

struct SqlFile {
  std::string_view name;  // "0001_outbox.up.sql"
  std::string_view text;
};

}  // namespace outbox
