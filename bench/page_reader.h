// The bare source: pages of the outbox table by seq, in single-row mode, and nothing else. No snapshot, no position,
// so it would lose late commits; it is what reading costs at least.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace outbox::bench {

struct Row {
  std::string_view id, aggregate_type, aggregate_id, type, payload, headers;
  std::int64_t created_us;  // since 2000
};

// Reads all there is; returns how many rows.
std::int64_t read_pages(
    const std::string& url, const std::function<void(const Row&)>& each,
    const std::function<void()>& page_done = [] {});

}  // namespace outbox::bench
