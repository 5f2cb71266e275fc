-- The relay's own file: what people do to deliveries and sinks, and which sinks they have paused.

-- One row per delivery that was requeued, replaced or discarded, and per sink that was paused, resumed or forgotten,
-- written in the transaction that did it. Nothing deletes them.
-- A delivery that was discarded is a tombstone like one that is done; its reason says discarded or replaced.
CREATE TABLE outbox_audit (
  audit      INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  actor      TEXT NOT NULL,
  action     TEXT NOT NULL
             CHECK (action IN ('requeued', 'replaced', 'discarded', 'paused', 'resumed', 'forgotten')),
  sink       TEXT NOT NULL,
  message_id TEXT NOT NULL DEFAULT '',
  reason     TEXT NOT NULL DEFAULT '',
  detail     TEXT NOT NULL DEFAULT ''  -- what the delivery had died of, or what came in its place
);

CREATE INDEX outbox_audit_message ON outbox_audit (message_id) WHERE message_id <> '';

-- Sinks that every relay leaves alone until somebody resumes them.
CREATE TABLE outbox_pause (
  sink   TEXT PRIMARY KEY,
  actor  TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  since  INTEGER NOT NULL
);

-- Dead letters in the order in which they are requeued, and how many each owner has.
CREATE INDEX outbox_delivery_dead ON outbox_delivery (sink, ord, owner) WHERE state = 'dead';

UPDATE outbox_meta SET value = '2' WHERE name = 'schema_version';
