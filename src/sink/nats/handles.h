// Owners of libnats' objects.
#pragma once

#include <nats/nats.h>

#include <memory>

namespace outbox::nats {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

using OptionsHandle = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using ConnectionHandle = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using SubscriptionHandle = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;
using MessageHandle = std::unique_ptr<natsMsg, Destroyer<natsMsg_Destroy>>;

}  // namespace outbox::nats
