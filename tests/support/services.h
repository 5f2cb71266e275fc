// The real services that tests run against. tools/services starts them; ./test passes their addresses on in the
// environment: OUTBOX_POSTGRESQL, OUTBOX_POSTGRESQL_NEWEST, OUTBOX_KAFKA, OUTBOX_NATS.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace outbox::test {

enum class Service {
  postgresql,         // Debian's: postgresql://postgres@127.0.0.1:PORT/postgres
  postgresql_newest,  // the newest major version, a URL as above
  pgbouncer,          // transaction pooling, before Debian's; a URL as above
  kafka,              // 127.0.0.1:PORT
  rabbitmq,           // amqp://guest:guest@127.0.0.1:PORT/
  nats,               // nats://127.0.0.1:PORT
};

// The variable that holds the address: "OUTBOX_KAFKA".
std::string environment_variable(Service service);

// Empty where the service was not started.
std::optional<std::string> find_service(Service service);

// Faults, by tools/services. The data and the address stay. Each throws std::runtime_error with the tool's output.
void kill_service(Service service);   // kill -9; returns when the process is gone
void stop_service(Service service);   // orderly; returns when the process is gone
void start_service(Service service);  // returns when the service answers its protocol

// Of the server itself, for signals. Throws if it does not run.
pid_t service_pid(Service service);

}  // namespace outbox::test

// Declares `const std::string variable`, the service's address; skips the test, saying why, where there is none.
// For test bodies and SetUp().
//
//   OUTBOX_REQUIRE_SERVICE(brokers, outbox::test::Service::kafka);
#define OUTBOX_REQUIRE_SERVICE(variable, service)                                                                   \
  if (!::outbox::test::find_service(service))                                                                       \
    GTEST_SKIP() << ::outbox::test::environment_variable(service) << " is not set: ./test starts the real service"; \
  const std::string variable = *::outbox::test::find_service(service)
