// What the drivers' headers share. Include the one of your driver: outbox/postgres.h, outbox/pqxx.h, outbox/sqlite.h.
//
//   Enqueued enqueue(<handle>, const Message&, const EnqueueOptions& = {});
//   std::vector<Enqueued> enqueue(<handle>, std::span<const Message>, const EnqueueOptions& = {});
//
// Both write to the outbox table on the caller's own connection, inside the transaction that the caller has open. They
// never begin, commit, roll back or retry it; the message exists when the caller's COMMIT has succeeded, and not
// before. They block for as long as the database takes to insert the rows. Any thread, one at a time per connection, as
// the driver itself demands.
//
// What is wrong with a message is found before a row is sent: such a call throws an Error that does not poison the
// transaction, and stores none of its messages. An error that the database itself reports is an Error too;
// poisons_transaction() and retryable() say what is left to do.
#pragma once

#include <cstddef>
#include <string>

namespace outbox {

struct EnqueueOptions {
  // As given to `outboxd init`: "outbox", "schema.outbox" or "prefix_outbox".
  std::string table = "outbox";

  // Bytes. A larger payload is refused, because a message that no sink takes had better not be stored: keep it below
  // what the destination accepts (Kafka's default is about 1 MB).
  std::size_t max_payload = 1'000'000;
};

struct Enqueued {
  std::string id;  // the message's id, 36 characters in lower case

  // A message with this id is there already, or came earlier in the same call: nothing was stored, the earlier one
  // counts, whatever it holds. This is how an enqueue is repeated safely after a COMMIT whose outcome is in doubt.
  bool duplicate = false;
};

}  // namespace outbox
