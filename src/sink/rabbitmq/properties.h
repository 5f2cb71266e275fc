// Properties: what goes with a payload, as librabbitmq wants it: persistent, message_id, type, content_type, timestamp
// (seconds) and the headers as a table of texts; a repeated header is an array of them.
#pragma once

#include <amqp.h>

#include <deque>
#include <optional>
#include <vector>

#include "model/headers.h"
#include "model/outcome.h"
#include "model/record.h"

namespace outbox::rabbitmq {

// Points into the record and the headers that it was made of, and into itself.
class Properties {
 public:
  Properties(const Record& record, const HeaderList& headers);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;

  const amqp_basic_properties_t& get() const { return properties_; }

  // Rejected if the protocol, or RabbitMQ's reading of it, cannot carry this. `frame_max` is the connection's.
  std::optional<Outcome> refusal(std::size_t frame_max) const;
  std::size_t encoded_size() const;

 private:
  void add_header(const std::string& name, const std::string& value);

  amqp_basic_properties_t properties_{};
  std::vector<amqp_table_entry_t> entries_;
  std::deque<std::vector<amqp_field_value_t>> arrays_;  // stable addresses
};

}  // namespace outbox::rabbitmq
