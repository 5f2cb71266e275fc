-- Who serves which feed, and until when nobody may take its shares over. `process` tells a relay on the same machine
-- whether this one still lives.
create table outbox_lease (
  relay   text        not null,
  feed    text        not null,
  process text        not null,
  until   timestamptz not null,
  constraint outbox_lease_pkey primary key (relay, feed)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000
);
