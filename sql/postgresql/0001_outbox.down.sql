drop function outbox_send(text, text, text, text, jsonb, uuid, timestamptz, bigint, integer);
drop table outbox;
