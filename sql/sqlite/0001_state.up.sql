-- The relay's own file, beside the application's: shop.db-outboxd. The relay makes it when it is missing.
-- By hand: sqlite3 shop.db-outboxd < 0001_state.up.sql
-- Times are microseconds since 1970, UTC.

PRAGMA journal_mode = WAL;

CREATE TABLE outbox_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- How far each sink has come. All rows up to seq are settled, and those in ahead.
CREATE TABLE outbox_position (
  sink       TEXT PRIMARY KEY,
  epoch      INTEGER NOT NULL,            -- raised by every take-over; an older owner's settle is refused
  relay      TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  message_id TEXT,                        -- of the row at seq: shows whether the application's file is still the same
  ahead      TEXT NOT NULL DEFAULT '[]',  -- JSON array of seqs
  updated_at INTEGER NOT NULL
);

-- Which message stood where, sampled as positions move on: where to resume when the application's file was restored
-- from a backup, and since when rows count as sent.
CREATE TABLE outbox_history (
  sink       TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  passed_at  INTEGER NOT NULL,
  PRIMARY KEY (sink, seq)
) WITHOUT ROWID;

-- Parked deliveries, with all that is needed to send them: the outbox row may be gone by then.
CREATE TABLE outbox_delivery (
  row               INTEGER PRIMARY KEY AUTOINCREMENT,
  sink              TEXT NOT NULL,
  message_id        TEXT NOT NULL,
  ord               INTEGER NOT NULL,     -- order among the parked rows of the sink
  key               TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state IN ('waiting', 'dead', 'done')),
  turn              INTEGER NOT NULL DEFAULT 0,  -- 1: no earlier row of its key holds this one back
  attempts          INTEGER NOT NULL DEFAULT 0,
  replays           INTEGER NOT NULL DEFAULT 0,
  charged           INTEGER NOT NULL DEFAULT 0,  -- 1: the last failure was the message's own
  not_due           INTEGER NOT NULL DEFAULT 0,  -- 1: waits for its not_before only, and holds nobody back
  holds_key         INTEGER NOT NULL DEFAULT 0,  -- dead, and later messages of its key wait for it
  next_attempt_at   INTEGER NOT NULL,
  reason            TEXT NOT NULL,
  last_error        TEXT NOT NULL,
  owner             TEXT NOT NULL,
  parked_at         INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  seq               INTEGER NOT NULL,
  aggregate_type    TEXT NOT NULL,
  aggregate_id      TEXT NOT NULL,
  type              TEXT NOT NULL,
  payload           BLOB,                 -- NULL once done
  payload_json      INTEGER NOT NULL,
  headers           TEXT NOT NULL,
  traceparent       TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  not_before        INTEGER,
  aggregate_version INTEGER,
  schema_version    INTEGER,
  UNIQUE (message_id, sink)
);

CREATE INDEX outbox_delivery_ord ON outbox_delivery (sink, ord);
CREATE INDEX outbox_delivery_key ON outbox_delivery (sink, key, ord) WHERE state IN ('waiting', 'dead');
CREATE INDEX outbox_delivery_due ON outbox_delivery (sink, next_attempt_at) WHERE state = 'waiting' AND turn = 1;
CREATE INDEX outbox_delivery_seq ON outbox_delivery (sink, seq, state);
CREATE INDEX outbox_delivery_state ON outbox_delivery (sink, state, updated_at, charged, not_due, next_attempt_at);

-- Heartbeats.
CREATE TABLE outbox_relay (
  name       TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  stopped    INTEGER NOT NULL DEFAULT 0,
  sinks      TEXT NOT NULL
);

INSERT INTO outbox_meta (name, value) VALUES ('schema_version', '1');
