-- An order and its messages in one transaction, from SQL: the same from any language that can run a statement.
--
--   outboxd init --database postgresql://shop@localhost/shop
--   psql postgresql://shop@localhost/shop -v ON_ERROR_STOP=1 -f postgres.sql
create table if not exists shop_order (id bigint, total numeric(10, 2));

begin;
insert into shop_order (id, total) values (4714, 99.90);

-- By the function that init makes. It returns the id.
select outbox_send('order', '4714', 'OrderPlaced', '{"order":4714}');

-- With everything that it takes. An id that is there already is left as it is, so a repetition is harmless.
select outbox_send('order', '4714', 'OrderConfirmed', '{"order":4714,"total":99.90}',
                   headers => '{"tenant": "north", "tag": ["a", "b"]}',
                   id => '0190b8f0-0000-7000-8000-000000004714',
                   not_before => now() + interval '1 minute',
                   aggregate_version => 2,
                   schema_version => 1);

-- Or by an ordinary INSERT. What is left out is filled in by the table.
insert into outbox (id, aggregatetype, aggregateid, type, payload, headers)
values ('0190b8f0-0000-7000-8000-000000014714', 'order', '4714', 'OrderShipped', '{"order":4714}', '{}')
on conflict (id) do nothing;
commit;
