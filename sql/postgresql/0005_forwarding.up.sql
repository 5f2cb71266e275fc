-- Copies of dead letters, sent to a sink of their own.

-- `forwarded` is the changed_at of the death whose copy is done with, so that what dies again is forwarded again;
-- `forward_refusal` says why the sink would never take that copy. Empty: it took it.
alter table outbox_delivery
  add column forwarded       timestamptz,
  add column forward_refusal text not null default '';

-- What is still to be forwarded, in the order of death.
create index outbox_delivery_unforwarded on outbox_delivery (changed_at, ord, delivery_id)
  where state = 'dead' and (forwarded is null or forwarded <> changed_at);
