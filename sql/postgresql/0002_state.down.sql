drop table outbox_clock, outbox_relay, outbox_delivery, outbox_position, outbox_meta;
