// Flaw: rules that live in a store or a source, broken on purpose in the simulated ones. The core's own broken rules
// are relay/variant.h's; a test sets one or the other and shows that the simulator finds it.
#pragma once

namespace outbox::sim {

enum class Flaw {
  none,
  window_taken_anew,      // a restart inside a window takes its second snapshot anew
  no_tombstones,          // a handled parked delivery leaves nothing behind
  stale_owner_settles,    // the epoch is not checked
  takes_what_is_leased,   // a share is taken over while its owner's lease is valid
  parks_twice,            // parking a message again gives it a second row
  update_revives,         // a repeated settle brings back what was discarded meanwhile
  update_undoes_requeue,  // a repeated settle says once more what was true before its message was requeued
};

inline Flaw g_flaw = Flaw::none;
inline bool flawed(Flaw flaw) { return g_flaw == flaw; }

}  // namespace outbox::sim
