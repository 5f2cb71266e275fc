-- The relay's own file: copies of dead letters, sent to a sink of their own.

-- `forwarded` is the updated_at of the death whose copy is done with, so that what dies again is forwarded again;
-- `forward_refusal` says why the sink would never take that copy. Empty: it took it.
ALTER TABLE outbox_delivery ADD COLUMN forwarded INTEGER;
ALTER TABLE outbox_delivery ADD COLUMN forward_refusal TEXT NOT NULL DEFAULT '';

-- What is still to be forwarded, in the order of death.
CREATE INDEX outbox_delivery_unforwarded ON outbox_delivery (updated_at, ord, row)
  WHERE state = 'dead' AND (forwarded IS NULL OR forwarded <> updated_at);

UPDATE outbox_meta SET value = '3' WHERE name = 'schema_version';
