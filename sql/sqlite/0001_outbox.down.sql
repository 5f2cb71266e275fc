-- Removes the outbox from the application's file, with every message in it.
DROP TABLE outbox_meta;
DROP TABLE outbox;
