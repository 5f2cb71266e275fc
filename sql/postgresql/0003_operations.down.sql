-- Paused sinks go on. The index outbox_delivery_dead stays: it harms nobody, and goes with its table.
drop table outbox_pause, outbox_audit;
