-- What people do to deliveries and sinks: who, when, why; and which sinks they have paused.

-- One row per delivery that was requeued, replaced or discarded, and per sink that was paused, resumed or forgotten,
-- written in the transaction that did it. Nothing deletes them.
create table outbox_audit (
  audit_id   bigint      generated always as identity,
  at         timestamptz not null default now(),
  actor      text        not null,
  action     text        not null
               check (action in ('requeued', 'replaced', 'discarded', 'paused', 'resumed', 'forgotten')),
  sink       text        not null,
  message_id text        not null default '',
  reason     text        not null default '',
  detail     text        not null default '',  -- what the delivery had died of, or what came in its place
  constraint outbox_audit_pkey primary key (audit_id)
);
create index outbox_audit_message on outbox_audit (message_id) where message_id <> '';

-- Sinks that every relay leaves alone until somebody resumes them.
create table outbox_pause (
  sink   text        not null,
  actor  text        not null,
  reason text        not null default '',
  since  timestamptz not null default now(),
  constraint outbox_pause_pkey primary key (sink)
);

-- Dead letters in the order in which they are requeued, and how many each owner has.
create index if not exists outbox_delivery_dead on outbox_delivery (sink, ord) include (owner, replays) where state = 'dead';
