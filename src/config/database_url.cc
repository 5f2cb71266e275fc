#include "config/database_url.h"

namespace outbox::config {

namespace {

constexpr std::string_view kChoices = "write postgresql://USER@HOST/DATABASE or sqlite:FILE";

Failure invalid(std::string_view what) {
  return {FailureKind::invalid, std::string(what) + "; " + std::string(kChoices)};
}

bool is_postgresql(std::string_view url) { return url.starts_with("postgresql://") || url.starts_with("postgres://"); }

}  // namespace

Result<DatabaseKind> database_kind(std::string_view url) {
  if (is_postgresql(url)) return DatabaseKind::postgresql;
  if (url.starts_with("mariadb:") || url.starts_with("mysql:"))
    return invalid("MariaDB and MySQL are not in this version");
  if (!url.starts_with("sqlite:")) return invalid("the URL's scheme is not known");
  if (sqlite_file(url).empty()) return invalid("the URL names no file");
  if (sqlite_file(url) == ":memory:") return invalid("a database in memory cannot be shared with the daemon");
  return DatabaseKind::sqlite;
}

std::string printable_database(std::string_view url) {
  if (url.starts_with("sqlite:")) return std::string(url);
  if (!is_postgresql(url)) return "the database";
  const std::string_view rest = url.substr(url.find("//") + 2);
  std::string_view place = rest.substr(0, rest.find('?'));
  if (const auto at = place.rfind('@'); at != std::string_view::npos) place.remove_prefix(at + 1);
  return "postgresql://" + std::string(place);
}

std::string sqlite_file(std::string_view url) {
  std::string_view file = url.starts_with("sqlite:") ? url.substr(7) : url;
  if (file.starts_with("///")) file.remove_prefix(2);
  return std::string(file);
}

}  // namespace outbox::config
