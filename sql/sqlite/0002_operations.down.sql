-- Paused sinks go on.
DROP INDEX outbox_delivery_dead;
DROP TABLE outbox_pause;
DROP TABLE outbox_audit;
UPDATE outbox_meta SET value = '1' WHERE name = 'schema_version';
