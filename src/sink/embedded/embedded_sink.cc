#include "sink/embedded/embedded_sink.h"

namespace outbox {

SinkType embedded_sink() {
  return {
      .name = "embedded",
      .summary = "a sink of a program that embeds the relay; outboxd delivers nothing to it, and its commands know it",
      .options = {},
      .address_option = "",
      .default_address = [](const config::Values&) { return std::string("embedded"); },
      .create = nullptr};
}

}  // namespace outbox
