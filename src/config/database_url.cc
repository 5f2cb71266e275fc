#include "config/database_url.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace outbox::config {

namespace {

constexpr std::string_view kChoices = "write postgresql://USER@HOST/DATABASE or sqlite:FILE";

Failure invalid(std::string_view what) {
  return {FailureKind::invalid, std::string(what) + "; " + std::string(kChoices)};
}

bool is_postgresql(std::string_view url) { return url.starts_with("postgresql://") || url.starts_with("postgres://"); }

// As libpq takes it apart: the first '@' ends user and password, if it stands before the first '/'.
struct PostgresUrl {
  std::string_view hosts;
  std::string_view path;  // with its '/'
  std::string_view query;
};

PostgresUrl take_apart(std::string_view url) {
  PostgresUrl parts;
  std::string_view rest = url.substr(url.find("//") + 2);
  if (const auto at = rest.find('@'); at < rest.find('/')) rest.remove_prefix(at + 1);
  const auto question = rest.find('?');
  if (question != std::string_view::npos) parts.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) parts.path = rest.substr(slash);
  parts.hosts = rest.substr(0, slash);
  return parts;
}

bool ports_are_numbers(std::string_view hosts) {
  for (const std::string& host : split(hosts, ',')) {
    const auto colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
    if (colon == std::string::npos) continue;
    if (!std::all_of(host.begin() + static_cast<std::ptrdiff_t>(colon) + 1, host.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; })) {
      return false;
    }
  }
  return true;
}

bool percent_encoded(std::string_view url) {
  for (auto at = url.find('%'); at != std::string_view::npos; at = url.find('%', at + 1)) {
    const std::string_view digits = url.substr(at + 1, 2);
    if (digits.size() < 2 || digits == "00") return false;
    if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c) != 0; })) return false;
  }
  return true;
}

bool query_is_pairs(std::string_view query) {
  if (query.empty()) return true;
  const auto pairs = split(query, '&');
  return std::all_of(pairs.begin(), pairs.end(),
                     [](const std::string& pair) { return std::count(pair.begin(), pair.end(), '=') == 1; });
}

// What libpq would read otherwise than it was meant, and then show a piece of the password as a host, a port or a
// database.
bool readable_postgresql(std::string_view url) {
  const PostgresUrl parts = take_apart(url);
  return parts.hosts.find('@') == std::string_view::npos && parts.path.find('@') == std::string_view::npos &&
         ports_are_numbers(parts.hosts) && percent_encoded(url) && query_is_pairs(parts.query);
}

}  // namespace

Result<DatabaseKind> database_kind(std::string_view url) {
  if (is_postgresql(url)) {
    if (readable_postgresql(url)) return DatabaseKind::postgresql;
    return Failure{FailureKind::invalid,
                   "the URL cannot be read: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE and percent-encode "
                   "special characters in the user, the password and the database: %40 for '@', %2F for '/', %3A for "
                   "':', %25 for '%'"};
  }
  if (url.starts_with("mariadb:") || url.starts_with("mysql:"))
    return invalid("MariaDB and MySQL are not in this version");
  if (!url.starts_with("sqlite:")) return invalid("the URL's scheme is not known");
  if (sqlite_file(url).empty()) return invalid("the URL names no file");
  if (sqlite_file(url) == ":memory:") return invalid("a database in memory cannot be shared with the daemon");
  return DatabaseKind::sqlite;
}

std::string printable_database(std::string_view url) {
  if (url.starts_with("sqlite:")) return std::string(url);
  if (!is_postgresql(url) || !readable_postgresql(url)) return "the database";
  const PostgresUrl parts = take_apart(url);
  return "postgresql://" + std::string(parts.hosts) + std::string(parts.path);
}

std::string sqlite_file(std::string_view url) {
  std::string_view file = url.starts_with("sqlite:") ? url.substr(7) : url;
  if (file.starts_with("///")) file.remove_prefix(2);
  return std::string(file);
}

}  // namespace outbox::config
