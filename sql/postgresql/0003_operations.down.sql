-- Paused sinks go on.
drop index outbox_delivery_dead;
drop table outbox_pause, outbox_audit;
