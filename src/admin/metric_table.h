// Every metric that the daemon exports. Names are an interface: users' alerts and boards stand on them.
//
// Moments are exported as timestamps, not as ages: an age that a hung process computed stands still. 0 means that there
// is none, and a table-wide gauge is the same from every relay: aggregate those with max, never sum.
#pragma once

#include "base/metrics.h"

namespace outbox::metric {

using enum MetricKind;

inline constexpr MetricInfo kUnsentRows{"outbox_unsent_rows", gauge, "",
                                        "Rows of the outbox table that some sink has not settled yet, of the sink that "
                                        "has most; counting stops at a bound"};
inline constexpr MetricInfo kOldestUnsent{"outbox_oldest_unsent_timestamp_seconds", gauge, "",
                                          "When the oldest unsent row was created; 0: none"};
inline constexpr MetricInfo kOldestDue{"outbox_oldest_due_timestamp_seconds", gauge, "sink",
                                       "When the oldest message that the sink has not got was created, parked ones "
                                       "included; 0: none"};
inline constexpr MetricInfo kDeliveries{"outbox_deliveries", gauge, "sink,state",
                                        "Parked deliveries by state: waiting, dead"};
inline constexpr MetricInfo kDeadLetters{"outbox_dead_letters", gauge, "sink,owner",
                                         "Dead letters by the owner that their route names; empty: it names none"};
inline constexpr MetricInfo kUnforwarded{"outbox_dead_letters_unforwarded", gauge, "",
                                         "Dead letters whose copy is still to be sent to the sink that "
                                         "dead_letters.forward names, from the relay that sends them; counting stops "
                                         "at a bound"};
inline constexpr MetricInfo kForwarded{"outbox_dead_letters_forwarded_total", counter, "sink,outcome",
                                       "Copies of dead letters that were sent: delivered, or refused for good"};
inline constexpr MetricInfo kDuplicates{"outbox_duplicates_total", counter, "sink",
                                        "Deliveries of which the far side said that it had them already (NATS)"};
inline constexpr MetricInfo kWaitingForDestination{"outbox_waiting_for_destination", gauge, "sink",
                                                   "Parked deliveries that wait for their sink or destination: what "
                                                   "parked_max bounds"};
inline constexpr MetricInfo kAtCap{"outbox_at_cap", gauge, "sink",
                                   "1: parked_max is reached, and nothing is read until there is room"};
inline constexpr MetricInfo kHeldDestinations{"outbox_held_destinations", gauge, "sink",
                                              "Destinations of a sink with several that get nothing but a probe: "
                                              "their breaker is not closed, or they asked to wait"};
inline constexpr MetricInfo kPaused{"outbox_paused", gauge, "sink", "1: somebody has paused the sink"};
inline constexpr MetricInfo kDead{"outbox_dead_total", counter, "sink,reason", "Messages that became dead letters"};
inline constexpr MetricInfo kAttempts{"outbox_attempts_total", counter, "sink,outcome",
                                      "Publications by what the sink said: delivered, rejected, busy, unknown, "
                                      "client_dead"};
inline constexpr MetricInfo kDeliverySeconds{"outbox_delivery_seconds", histogram, "sink",
                                             "From the row's creation to the confirmation"};
inline constexpr MetricInfo kPublishSeconds{"outbox_publish_seconds", histogram, "sink",
                                            "From handing a message to the sink to its confirmation"};
inline constexpr MetricInfo kInFlight{"outbox_in_flight", gauge, "sink",
                                      "Messages handed to the sink and not confirmed yet"};
inline constexpr MetricInfo kBreakerState{"outbox_breaker_state", gauge, "sink,state",
                                          "1 for the state that the sink's breaker is in: closed, open, half_open"};
inline constexpr MetricInfo kBreakerTransitions{"outbox_breaker_transitions_total", counter, "sink,state",
                                                "Changes of the sink's breaker, by the new state"};
inline constexpr MetricInfo kPollSeconds{"outbox_poll_seconds", histogram, "", "How long one read of the table took"};
inline constexpr MetricInfo kLastPoll{"outbox_last_poll_timestamp_seconds", gauge, "",
                                      "When the table was last read, of the feed that is furthest behind"};
inline constexpr MetricInfo kLastDelivery{"outbox_last_delivery_timestamp_seconds", gauge, "sink",
                                          "When the sink last confirmed a message; 0: not since the start"};
inline constexpr MetricInfo kLanesOwned{"outbox_lanes_owned", gauge, "",
                                        "Lanes that this relay has, of all feeds: 64 for each feed that it has alone"};
inline constexpr MetricInfo kLeaseLost{"outbox_lease_lost_total", counter, "",
                                       "Shares that another relay took over because the lease had run out"};
inline constexpr MetricInfo kBuildInfo{"outbox_build_info", gauge, "version", "1, with the daemon's version"};

inline constexpr MetricInfo kAll[] = {
    kUnsentRows,
    kOldestUnsent,
    kOldestDue,
    kDeliveries,
    kDead,
    kAttempts,
    kDeliverySeconds,
    kPublishSeconds,
    kInFlight,
    kBreakerState,
    kBreakerTransitions,
    kPollSeconds,
    kLastPoll,
    kLastDelivery,
    kLanesOwned,
    kLeaseLost,
    kBuildInfo,
    kDeadLetters,
    kPaused,
    kUnforwarded,
    kForwarded,
    kDuplicates,
    kWaitingForDestination,
    kAtCap,
    kHeldDestinations,
};

}  // namespace outbox::metric
