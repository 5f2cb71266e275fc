// Case B043: a hot standby shows the past; claiming from it would send again what was sent.
#include <csignal>
#include <filesystem>

#include "integration/postgres_relay.h"
#include "support/child_process.h"
#include "support/daemon.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

// A standby of the server behind `primary`, on a socket in a folder of its own.
class Standby {
 public:
  explicit Standby(PostgresDatabase& primary) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    // A standby refuses to have less of these than its primary.
    std::string settings;
    for (const std::string name : {"max_connections", "max_wal_senders", "max_worker_processes",
                                   "max_prepared_transactions", "max_locks_per_transaction"}) {
      settings += " -c " + name + "=" + primary.value("show " + name);
    }
    // A server does not run as root; a child that is exec'd keeps its pid.
    const std::string script =
        "set -e; bin=$(pg_config --bindir); pg_basebackup -R -c fast -D \"$1/data\" -d \"$2\"; as=;"
        " if [ $(id -u) = 0 ]; then chown -R postgres \"$1\"; as='setpriv --reuid=postgres --regid=postgres"
        " --init-groups'; fi; exec $as $bin/postgres -D \"$1/data\" -c listen_addresses= -c port=5432"
        " -c unix_socket_directories=\"$1\"" +
        settings;
    server_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{"sh", "-c", script, "sh", folder_.path().string(), primary.url()});
  }
  ~Standby() {
    server_->signal(SIGINT);
    static_cast<void>(server_->wait(30s));
  }

  std::string url(const std::string& database) const {
    return "postgresql:///" + database + "?user=postgres&host=" + folder_.path().string();
  }
  // True once it answers queries.
  bool ready(const std::string& database) {
    return eventually(60s,
                      [&] {
                        if (!server_->running()) return true;
                        const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(url(database).c_str()),
                                                                                    PQfinish);
                        return PQstatus(connection.get()) == CONNECTION_OK;
                      }) &&
           server_->running();
  }
  std::string log() const { return server_->standard_error(); }

 private:
  TempDir folder_;
  std::unique_ptr<ChildProcess> server_;
};

TEST(PostgresStandby, IsRefused) {
  OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
  PostgresDatabase database(server);
  must(init_postgres(database.url(), {}));
  Standby standby(database);
  ASSERT_TRUE(standby.ready(database.name())) << standby.log();
  const auto url = standby.url(database.name());

  const auto shape = must(inspect_postgres_table(url, {}));
  const auto store = make_postgres_store(url, shape.table)->take_over({"events", {"events"}, true, true}, "relay");
  const auto source = make_postgres_source(url, shape)->open({"3:3:", "", 0, {}});
  const auto made = init_postgres(url, {});
  ASSERT_FALSE(store);
  ASSERT_FALSE(source);
  ASSERT_FALSE(made);
  for (const auto& failure : {store.failure(), source.failure(), made.failure()}) {
    EXPECT_EQ(failure.kind, FailureKind::refused);
    EXPECT_NE(failure.what.find("standby"), std::string::npos) << failure.what;
    EXPECT_NE(failure.what.find("name the primary"), std::string::npos) << failure.what;
  }
  Daemon daemon;
  daemon.configure("database: \"" + url + "\"\nsinks:\n  out: { type: stdout }\nroutes:\n  - { sink: out }\n");
  for (const std::vector<std::string>& way : {std::vector<std::string>{"run"}, {"run", "--once"}}) {
    const Ran ran = daemon.run(way);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("name the primary"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace outbox::test
