#include <curl/curl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <openssl/crypto.h>
#include <sqlite3.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "base/json_writer.h"

namespace outbox::app {

namespace {

struct Library {
  std::string name;
  std::string version;
};

// As loaded, not as compiled against.
std::vector<Library> libraries() {
  const int pq = PQlibVersion();
  return {
      {"libpq", fmt::format("{}.{}", pq / 10000, pq % 10000)},
      {"sqlite", sqlite3_libversion()},
      {"librdkafka", rd_kafka_version_str()},
      {"libcurl", curl_version_info(CURLVERSION_NOW)->version},
      {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)},
  };
}

}  // namespace

int execute(const VersionFlags& flags) {
  if (flags.json) {
    JsonWriter json;
    json.begin_object().key("version").value(OUTBOX_VERSION).key("libraries").begin_object();
    for (const Library& library : libraries()) json.key(library.name).value(library.version);
    json.end_object().end_object();
    fmt::print("{}\n", json.text());
    return kDone;
  }
  fmt::print("outboxd {}\n", OUTBOX_VERSION);
  for (const Library& library : libraries()) fmt::print("  {} {}\n", library.name, library.version);
  return kDone;
}

}  // namespace outbox::app
