-- Stop all relays first. Which copies were sent is forgotten; the index goes with its column.
alter table outbox_delivery drop column forwarded, drop column forward_refusal;
delete from outbox_position where sink = '*dead_letters';
delete from outbox_lease where feed = '*dead_letters';
