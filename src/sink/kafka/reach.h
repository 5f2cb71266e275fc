// Whether there is a cluster behind a Kafka sink's settings.
#pragma once

#include <string>

#include "base/result.h"
#include "sink/kafka/client_settings.h"

namespace outbox::kafka {

// See SinkType::reach. Says how many brokers the cluster has.
Result<std::string> reach_cluster(const ClientSettings& settings);

}  // namespace outbox::kafka
