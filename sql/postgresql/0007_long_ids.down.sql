-- Stop all relays first. What is parked under the short form of a long id goes out under that from now on.
alter table outbox_delivery drop column long_id;
