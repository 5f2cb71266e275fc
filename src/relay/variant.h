// Variants: deliberately broken versions of the core. The simulator compiles the core once more with
// OUTBOX_VARIANTS and shows that each of them is found (tests/simulation). In the product broken() is constant
// false and costs nothing.
#pragma once

namespace outbox {

enum class Variant {
  none,
  settle_before_confirm,    // a record counts as settled when it is published
  no_key_gate,              // a second message of a key is in flight at a sink that does not keep order
  park_without_followers,   // later messages of a parked key overtake it
  release_out_of_order,     // a run of parked deliveries is queued from its end
  position_past_unsettled,  // the position moves over a record that is not settled
  probe_same_key,           // a half-open breaker probes with the same message for ever
  not_due_blocks_key,       // what is not due yet holds the position
  outage_charges,           // a destination's failure uses up the message's attempts
  ahead_forgotten,          // what is settled past the position is not stored
  ahead_by_seq,             // a row whose number was given out again counts as the settled one
  known_ignored,            // a record read again after a restart is sent although its parked delivery was handled
  client_death_reverses,    // what a dead client had in flight is queued in reverse
  hold_ignored,             // messages pass a dead letter that holds its key
  death_out_of_turn,        // a dead letter that holds its key is stored before what stands before it in its key
  probe_leaks,              // a probe that ends without a verdict on the destination is never given back
  cap_ignored,              // reading goes on at the cap of parked deliveries
  retry_without_backoff,    // a failed message is due at once
  facts_clear_key,          // an answer of the store clears a key that was parked meanwhile
  restart_keeps_memory,     // after the database was lost, the core settles what it remembers
  lapse_ignored,            // publishes after its lease has run out
  lapse_leaves_client,      // what the client holds is not taken back when the lease runs out
  lapse_keeps_share,        // after a lapse it settles and publishes on, without a new take-over
  gives_in_flight,          // ends, so that its share is given away, while something is in flight
  pause_ignored,            // publishes to a sink that is paused
  budget_ignored,           // retries go out although the budget has nothing left
  age_by_last_try,          // a message's age is counted from its last try
  spill_missing,            // a sink that is down holds the others of its feed
  clock_not_set_back,       // a database's clock that is set back is not followed
  spill_from_behind,        // what is spilled of a key is parked from its end
  refused_forgotten,        // what the database refuses to store is let go
  refused_passed,           // the position moves over a message whose parking was refused
  refused_marked,           // a row is marked although parking its message was refused
};

#ifdef OUTBOX_VARIANTS
extern Variant g_variant;  // set by the test, before the core runs
inline bool broken(Variant variant) { return g_variant == variant; }
#else
constexpr bool broken(Variant) { return false; }
#endif

}  // namespace outbox
