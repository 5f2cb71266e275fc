-- Forgets where every sink stands and drops what is parked, dead letters too.
DROP TABLE outbox_relay;
DROP TABLE outbox_delivery;
DROP TABLE outbox_history;
DROP TABLE outbox_position;
DROP TABLE outbox_meta;
