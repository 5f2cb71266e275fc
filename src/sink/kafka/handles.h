// Owners of librdkafka's objects.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace outbox::kafka {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

using ConfHandle = std::unique_ptr<rd_kafka_conf_t, Destroyer<rd_kafka_conf_destroy>>;
using ClientHandle = std::unique_ptr<rd_kafka_t, Destroyer<rd_kafka_destroy>>;
using QueueHandle = std::unique_ptr<rd_kafka_queue_t, Destroyer<rd_kafka_queue_destroy>>;
using EventHandle = std::unique_ptr<rd_kafka_event_t, Destroyer<rd_kafka_event_destroy>>;
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, Destroyer<rd_kafka_topic_destroy>>;
using HeadersHandle = std::unique_ptr<rd_kafka_headers_t, Destroyer<rd_kafka_headers_destroy>>;

}  // namespace outbox::kafka
