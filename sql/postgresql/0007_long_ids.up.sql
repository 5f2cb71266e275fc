-- The whole message id, where `message_id` is its short form: an index takes no text of any length. NULL: it is whole.
alter table outbox_delivery add column long_id text;
