// The control tool of the RabbitMQ that tools/services runs.
#pragma once

#include <string>
#include <vector>

namespace outbox::test {

// rabbitmqctl, by tools/services; returns what it printed.
std::string rabbitmqctl(const std::vector<std::string>& arguments);
// RabbitMQ 3.10 forgets a quorum queue that is younger than three minutes when it is killed, whatever was confirmed:
// its registry is saved that seldom. This saves it now.
void save_quorum_queues();

}  // namespace outbox::test
