-- Which copies were sent is forgotten.
DROP INDEX outbox_delivery_unforwarded;
ALTER TABLE outbox_delivery DROP COLUMN forwarded;
ALTER TABLE outbox_delivery DROP COLUMN forward_refusal;
DELETE FROM outbox_meta WHERE name = 'forwarding_epoch';
UPDATE outbox_meta SET value = '2' WHERE name = 'schema_version';
