// ForwardingRole: this relay's part in forwarding dead letters: it runs the Forwarder while the one share of
// kForwardingFeed is its own, and stands by else.
//
// Thread: one at a time. The destructor stops the forwarder and waits for what it has in flight.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/runner_factory.h"
#include "config/settings.h"
#include "relay/forwarder.h"
#include "store/leases.h"

namespace outbox::app {

class ForwardingRole {
 public:
  // The settings' `forward` is there.
  ForwardingRole(const RelayParts& parts, const std::string& relay, std::shared_ptr<const Lease> lease);

  // Fails on bad options of the sink, and where it can have one writer only but routes name it, too.
  Result<void> check() const;
  // Starts or forgets the forwarder, as the roster says. Fails where no waiting mends it.
  Result<void> follow(const Roster& roster);
  const std::string& sink() const { return sink_.name; }
  std::optional<SinkView> view() const;  // none: another relay forwards, or nobody yet
  void pause(bool paused);
  void stop();

 private:
  Result<void> start();

  const RelayParts parts_;
  const config::SinkSettings& sink_;
  const std::string relay_;
  const std::shared_ptr<const Lease> lease_;
  bool paused_ = false;
  std::unique_ptr<Forwarder> forwarder_;
};

}  // namespace outbox::app
