#include "config/sections.h"

namespace outbox::config {

namespace {

using enum OptionType;

constexpr std::int64_t kMillisecond = 1'000;
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

constexpr Option kTop[] = {
    {.name = "database",
     .type = secret,
     .fallback = "postgresql://user:${DB_PASSWORD}@localhost/shop",
     .help = "URL of the database that holds the outbox: postgresql://… or sqlite:FILE",
     .required = true},
    {.name = "drain_timeout",
     .type = duration,
     .fallback = "10s",
     .help = "how long SIGTERM waits for what is in flight",
     .min = 100 * kMillisecond,
     .max = 3600 * kSecond},
    {.name = "lease",
     .type = duration,
     .fallback = "10s",
     .help = "how long a relay that says nothing more keeps its share of the work; another takes over after that",
     .min = kSecond,
     .max = 600 * kSecond},
};

constexpr Option kOutbox[] = {
    {.name = "table", .type = text, .fallback = "outbox", .help = "the outbox table, schema-qualified if need be"},
    {.name = "capture",
     .type = choice,
     .fallback = "poll",
     .help = "how new rows are found; wal and log are not in this version",
     .choices = "poll|wal|log"},
    {.name = "columns",
     .type = text_map,
     .fallback = "",
     .help = "the table's own column names, for a table that is not ours: our name → the table's; empty: it has none"},
    {.name = "constants",
     .type = text_map,
     .fallback = "",
     .help = "values for what the table has no column for, like aggregate_type: order"},
    {.name = "sent",
     .type = choice,
     .fallback = "",
     .help = "what happens to a row that was delivered: keep writes nothing, mark writes published_at, delete removes "
             "it; unset: keep on our own table and on one with xid and seq columns, mark where there is a "
             "published_at column",
     .choices = "keep|mark|delete"},
    {.name = "retain",
     .type = duration,
     .fallback = "",
     .help = "how long delivered rows of our own table stay; unset: for ever",
     .min = kSecond,
     .max = 3650 * kDay},
};

constexpr Option kSink[] = {
    {.name = "type", .type = text, .fallback = "kafka", .help = "the kind of sink", .required = true},
    {.name = "from",
     .type = choice,
     .fallback = "now",
     .help = "where a sink that is new begins: with what is committed from now on, or with all rows there are; not "
             "asked on a table that is marked or deleted from, where every row without its mark is sent",
     .choices = "now|beginning"},
    {.name = "parked_max",
     .type = integer,
     .fallback = "100000",
     .help = "how many deliveries may be parked for want of their destination before reading stops",
     .min = 1,
     .max = 100'000'000},
    {.name = "retry.base",
     .type = duration,
     .fallback = "",
     .help = "as retry.base, for this sink",
     .min = kMillisecond,
     .max = kDay},
    {.name = "retry.cap",
     .type = duration,
     .fallback = "",
     .help = "as retry.cap, for this sink",
     .min = kMillisecond,
     .max = 30 * kDay},
    {.name = "retry.attempts",
     .type = integer,
     .fallback = "",
     .help = "as retry.attempts, for this sink",
     .min = 1,
     .max = 1000},
    {.name = "retry.age",
     .type = duration,
     .fallback = "",
     .help = "as retry.age, for this sink",
     .min = kMillisecond,
     .max = 3650 * kDay},
    {.name = "retry.budget.percent",
     .type = integer,
     .fallback = "",
     .help = "as retry.budget.percent, for this sink",
     .min = 0,
     .max = 1000},
    {.name = "retry.budget.per_second",
     .type = integer,
     .fallback = "",
     .help = "as retry.budget.per_second, for this sink",
     .min = 1,
     .max = 1'000'000},
    {.name = "breaker.failures",
     .type = integer,
     .fallback = "",
     .help = "as breaker.failures, for this sink",
     .min = 1,
     .max = 10'000},
    {.name = "breaker.open",
     .type = duration,
     .fallback = "",
     .help = "as breaker.open, for this sink",
     .min = kMillisecond,
     .max = kDay},
    {.name = "breaker.cap",
     .type = duration,
     .fallback = "",
     .help = "as breaker.cap, for this sink",
     .min = kMillisecond,
     .max = 30 * kDay},
};

constexpr Option kRoute[] = {
    {.name = "sink",
     .type = text,
     .fallback = "events",
     .help = "the sink's name, or none: such messages are sent nowhere",
     .required = true},
    {.name = "aggregate_type", .type = text, .fallback = "", .help = "only messages of this aggregate type"},
    {.name = "type", .type = text, .fallback = "", .help = "only messages of this type"},
    {.name = "owner", .type = text, .fallback = "", .help = "who looks after dead letters of this route"},
    {.name = "retry.base",
     .type = duration,
     .fallback = "",
     .help = "as retry.base, for this route",
     .min = kMillisecond,
     .max = kDay},
    {.name = "retry.cap",
     .type = duration,
     .fallback = "",
     .help = "as retry.cap, for this route",
     .min = kMillisecond,
     .max = 30 * kDay},
    {.name = "retry.attempts",
     .type = integer,
     .fallback = "",
     .help = "as retry.attempts, for this route",
     .min = 1,
     .max = 1000},
    {.name = "retry.age",
     .type = duration,
     .fallback = "",
     .help = "as retry.age, for this route",
     .min = kMillisecond,
     .max = 3650 * kDay},
    {.name = "dead_letters.key",
     .type = choice,
     .fallback = "",
     .help = "as dead_letters.key, for this route",
     .choices = "continue|hold"},
};

constexpr Option kRetry[] = {
    {.name = "base",
     .type = duration,
     .fallback = "1s",
     .help = "the longest wait before the second try; doubled at each further one, full jitter",
     .min = kMillisecond,
     .max = kDay},
    {.name = "cap",
     .type = duration,
     .fallback = "30s",
     .help = "the longest wait of all, not below base",
     .min = kMillisecond,
     .max = 30 * kDay},
    {.name = "attempts",
     .type = integer,
     .fallback = "8",
     .help = "tries that fail by the message's own fault before it is a dead letter",
     .min = 1,
     .max = 1000},
    {.name = "age",
     .type = duration,
     .fallback = "",
     .help = "a message that fails again this long after its first failure is a dead letter (too_old), whatever "
             "attempts it has left; unset: no limit",
     .min = kMillisecond,
     .max = 3650 * kDay},
    {.name = "budget.percent",
     .type = integer,
     .fallback = "10",
     .help = "retries that a sink gets per hundred first tries, so that a far side in trouble is not sent many times "
             "the usual; one that has to wait for its turn waits uncharged, and its key with it",
     .min = 0,
     .max = 1000},
    {.name = "budget.per_second",
     .type = integer,
     .fallback = "10",
     .help = "retries per second that a sink gets beside that, in each share of its keys",
     .min = 1,
     .max = 1'000'000},
};

constexpr Option kBreaker[] = {
    {.name = "failures",
     .type = integer,
     .fallback = "5",
     .help = "failures of the destination in a row that open its breaker",
     .min = 1,
     .max = 10'000},
    {.name = "open",
     .type = duration,
     .fallback = "5s",
     .help = "how long it stays open at first; doubled at each probe that fails",
     .min = kMillisecond,
     .max = kDay},
    {.name = "cap",
     .type = duration,
     .fallback = "1m",
     .help = "the longest that it stays open, not below open",
     .min = kMillisecond,
     .max = 30 * kDay},
};

constexpr Option kDeadLetters[] = {
    {.name = "key",
     .type = choice,
     .fallback = "continue",
     .help = "whether later messages of a dead letter's key go on or wait for it",
     .choices = "continue|hold"},
    {.name = "retain",
     .type = duration,
     .fallback = "30d",
     .help = "how long dead letters stay",
     .min = kSecond,
     .max = 3650 * kDay},
    {.name = "replays",
     .type = integer,
     .fallback = "10",
     .help = "how often a dead letter may be sent again unchanged (requeue)",
     .min = 1,
     .max = 1'000'000},
};

constexpr Option kForward[] = {
    {.name = "sink",
     .type = text,
     .fallback = "dead-letters",
     .help = "the name of the sink that gets the copies",
     .required = true},
};

constexpr Option kAdmin[] = {
    {.name = "listen",
     .type = text,
     .fallback = "",
     .help = "host:port of /metrics, /healthz and /readyz, on the loopback only; unset: no listener, nor with run "
             "--once. Port 0: any"},
};

constexpr Option kLog[] = {
    {.name = "level",
     .type = choice,
     .fallback = "info",
     .help = "the least level that is written",
     .choices = "debug|info|warn|error"},
    {.name = "format", .type = choice, .fallback = "logfmt", .help = "how a line looks", .choices = "logfmt|json"},
};

constexpr Section kSections[] = {
    {"", "Top level", "", kTop},
    {"outbox", "outbox", "The table that messages are read from.", kOutbox},
    {"sinks.NAME", "sinks",
     "One entry per destination system. The name is the sink's identity: its position and its "
     "parked deliveries are stored under it. These options are common to all types.",
     kSink},
    {"routes[]", "routes",
     "Which message goes to which sink. Every sink whose route matches gets the message once; "
     "the first match per sink counts. A message that no route matches becomes a dead letter with the reason "
     "`no_route`, unless a route says `sink: none`.",
     kRoute},
    {"retry", "retry", "How often a message that fails by its own fault is tried again, and when.", kRetry},
    {"breaker", "breaker",
     "When a destination that fails is left alone, and for how long. Waiting for it uses up "
     "nobody's attempts.",
     kBreaker},
    {"dead_letters", "dead_letters", "What happens around messages that cannot be delivered.", kDeadLetters},
    {"dead_letters.forward", "dead_letters.forward",
     "Copies of dead letters, sent to a sink of this file; unset: none. Beside the sink it may say where to, as a "
     "route "
     "to that sink does. The sink may be named by routes, too, or by nothing else.",
     kForward},
    {"admin", "admin", "The listener for metrics and health.", kAdmin},
    {"log", "log", "One line per event on standard error.", kLog},
};

constexpr std::string_view kColumnNames[] = {
    "id",
    "aggregate_type",
    "aggregate_id",
    "type",
    "payload",
    "headers",
    "created_at",
    "published_at",
    "seq",
    "xid",
    "order",
    "not_before",
    "aggregate_version",
    "schema_version",
    "traceparent",
};
constexpr std::string_view kConstantNames[] = {"aggregate_type", "type", "schema_version"};
constexpr std::string_view kMessageFields[] = {"aggregate_type", "aggregate_id", "type", "id"};

}  // namespace

OptionTable top_options() { return kTop; }
OptionTable outbox_options() { return kOutbox; }
OptionTable sink_options() { return kSink; }
OptionTable route_options() { return kRoute; }
OptionTable retry_options() { return kRetry; }
OptionTable breaker_options() { return kBreaker; }
OptionTable dead_letters_options() { return kDeadLetters; }
OptionTable forward_options() { return kForward; }
OptionTable admin_options() { return kAdmin; }
OptionTable log_options() { return kLog; }
std::span<const Section> sections() { return kSections; }
std::span<const std::string_view> column_names() { return kColumnNames; }
std::span<const std::string_view> constant_names() { return kConstantNames; }
std::span<const std::string_view> message_fields() { return kMessageFields; }

}  // namespace outbox::config
