-- The outbox table and outbox_send(). For PostgreSQL 13 and newer.
--
-- {payload_type} is json, jsonb or bytea, {payload_value} what outbox_send() stores of its text: $4::json,
-- payload::jsonb or convert_to($4, 'UTF8'). `outboxd init --print` shows the text with both filled in.

-- xid stands before seq, so that no seq is drawn before its transaction has its id; seq is always generated and never
-- cached, so that it is drawn at the insert. The order of delivery rests on both.
create table outbox (
  id                uuid        not null default gen_random_uuid(),
  xid               xid8        not null default pg_current_xact_id(),
  seq               bigint      generated always as identity (cache 1),
  aggregatetype     text        not null,
  aggregateid       text        not null,
  type              text        not null,
  payload           {payload_type},
  headers           jsonb       not null default '{}',
  aggregate_version bigint,
  schema_version    integer,
  traceparent       text,
  created_at        timestamptz not null default now(),
  not_before        timestamptz,
  published_at      timestamptz,
  -- The share of the keys: the first two bytes of md5(aggregatetype:aggregateid), modulo 64.
  lane              smallint    not null generated always as
                      (((('x' || left(md5(aggregatetype || ':' || aggregateid), 4))::bit(16)::int) % 64)::smallint) stored,
  constraint outbox_pkey primary key (id)
) with (
  -- Inserts alone have to bring the vacuum: it keeps the index-only bounds of a window cheap.
  autovacuum_vacuum_insert_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.1
);

-- Pages of a window, in order.
create index outbox_seq on outbox (seq, lane, xid);
-- Bounds of a window, late rows, retention.
create index outbox_xid on outbox (xid, seq, lane);

-- One line from any language, inside your own transaction. A message that has been enqueued already (same id) is left
-- as it is.
create function outbox_send(
  aggregate_type    text,
  aggregate_id      text,
  type              text,
  payload           text,
  headers           jsonb       default '{}',
  id                uuid        default null,
  not_before        timestamptz default null,
  aggregate_version bigint      default null,
  schema_version    integer     default null
) returns uuid language plpgsql as $function$
declare
  message uuid := coalesce($6, gen_random_uuid());
  header record;
  wrong boolean;
begin
  if jsonb_typeof(coalesce($5, '{}')) <> 'object' then
    raise exception 'headers must be a JSON object of strings' using errcode = '22023';
  end if;
  for header in select h.key, h.value from jsonb_each(coalesce($5, '{}')) h loop
    wrong := header.key = '' or jsonb_typeof(header.value) not in ('string', 'array');
    if not wrong and jsonb_typeof(header.value) = 'array' then
      select coalesce(bool_or(jsonb_typeof(v) <> 'string'), false) into wrong from jsonb_array_elements(header.value) v;
    end if;
    if wrong then
      raise exception 'header "%" must be a string or an array of strings, under a name', header.key
        using errcode = '22023';
    end if;
  end loop;
  insert into outbox (id, aggregatetype, aggregateid, type, payload, headers, not_before, aggregate_version,
                      schema_version)
  values (message, $1, $2, $3, {payload_value}, coalesce($5, '{}'), $7, $8, $9)
  on conflict do nothing;
  return message;
end
$function$;
