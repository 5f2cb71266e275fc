-- What was discarded is known by its reason again.
ALTER TABLE outbox_delivery DROP COLUMN discarded;
UPDATE outbox_meta SET value = '3' WHERE name = 'schema_version';
