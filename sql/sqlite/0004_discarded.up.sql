-- The relay's own file: what was discarded is told apart from what was delivered, and what failed by its own fault from
-- what waits for its destination.

-- 1: nothing was sent, somebody discarded or replaced it; its reason says which. A reason alone may be the sink's own.
ALTER TABLE outbox_delivery ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0;
UPDATE outbox_delivery SET discarded = 1 WHERE state = 'done' AND reason IN ('discarded', 'replaced');

-- `charged` stays 1 from the first failure on that was the message's own.
UPDATE outbox_delivery SET charged = 1 WHERE state = 'waiting' AND attempts > 0;

UPDATE outbox_meta SET value = '4' WHERE name = 'schema_version';
