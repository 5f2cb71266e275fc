// The pages of the admin address: /metrics, /healthz, /readyz.
#pragma once

#include <functional>
#include <vector>

#include "admin/server.h"
#include "base/metrics.h"
#include "relay/runner.h"

namespace outbox {

// `views` is called for each request, from the server's thread; it and `metrics` outlive the server.
AdminHandlers admin_endpoints(const Metrics& metrics, const std::function<std::vector<FeedView>()>& views);

}  // namespace outbox
