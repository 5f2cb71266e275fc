// The forwarding conformance suite: what store/forwarding_store.h promises, tried beside the stores of a relay and of
// an operator, on every database. A test program lists this suite's source and those of the other two.
#pragma once

#include "conformance/operator_conformance.h"
#include "store/forwarding_store.h"

namespace outbox::test {

class ForwardingConformance : public OperatorConformance {
 protected:
  void SetUp() override;

  std::vector<DeadLetter> unforwarded(const DeathPlace& after = {}, std::size_t max_rows = 100,
                                      std::size_t max_bytes = 1 << 20);
  std::vector<std::string> unforwarded_ids();
  void mark(const std::vector<DeadLetter>& dead, const std::string& refusal = {});

  std::unique_ptr<ForwardingStore> forwarding_;
  std::uint64_t forwarding_epoch_ = 0;
};

}  // namespace outbox::test
