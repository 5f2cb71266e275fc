// The control tool of the RabbitMQ that tools/services runs.
#pragma once

#include <string>
#include <vector>

namespace outbox::test {

// rabbitmqctl, by tools/services; returns what it printed.
std::string rabbitmqctl(const std::vector<std::string>& arguments);
// Puts on disk what was declared. Without it RabbitMQ 3.10, killed, may forget an exchange or a queue of the last
// moments, and a quorum queue that is younger than three minutes with all that it had confirmed: its registry is saved
// that seldom. Even then a quorum queue must not have the name of one that was deleted shortly before.
void save_declarations();

}  // namespace outbox::test
