-- The relay's own file: what was discarded is told apart from what was delivered.

-- 1: nothing was sent, somebody discarded or replaced it; its reason says which. A reason alone may be the sink's own.
ALTER TABLE outbox_delivery ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0;
UPDATE outbox_delivery SET discarded = 1 WHERE state = 'done' AND reason IN ('discarded', 'replaced');

UPDATE outbox_meta SET value = '4' WHERE name = 'schema_version';
