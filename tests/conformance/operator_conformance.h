// The operator conformance suite: what store/operator_store.h promises, tried beside the store that a relay works with,
// on every database. A test program lists operator_conformance.cc and store_conformance.cc among its sources.
#pragma once

#include "conformance/store_conformance.h"
#include "store/operator_store.h"

namespace outbox::test {

class OperatorConformance : public StoreConformance {
 protected:
  void SetUp() override;

  // Dead letters of that many keys, "1" to "n", in this order.
  std::vector<RecordPtr> bury(int n);
  std::vector<DeliveryInfo> listed(ListedState state, const DeliveryFilter& filter = {}, std::size_t limit = 1000);
  // To the end; returns what was changed.
  std::int64_t requeue(const DeliveryFilter& filter = {}, int replays_max = 10, std::size_t max_rows = 100);
  std::int64_t discard(const DeliveryFilter& filter = {});
  MessageLife life(const std::string& message_id);
  DeliveryInfo only(const std::string& message_id);
  void pass_all();
  // As a relay does: what is due is delivered, until nothing is.
  std::vector<std::string> deliver_due();

  std::unique_ptr<OperatorStore> operator_;
  const std::vector<RouteFilter> routes_{{"events", {}, {}}};
  const Act act_{"ana@desk", "said so"};
};

}  // namespace outbox::test
