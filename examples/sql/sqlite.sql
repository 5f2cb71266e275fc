-- An order and its message in one transaction, from SQL.
--
--   outboxd init --database sqlite:shop.db
--   sqlite3 -bail shop.db < sqlite.sql
create table if not exists shop_order (id integer, total numeric);

begin immediate;
insert into shop_order (id, total) values (4714, 99.90);

-- Text is JSON; a blob (x'...') is bytes. What is left out is filled in by the table, the id too.
insert into outbox (aggregatetype, aggregateid, type, payload)
values ('order', '4714', 'OrderPlaced', '{"order":4714}');

-- With everything that it takes. An id that is there already is left as it is, so a repetition is harmless.
insert into outbox (id, aggregatetype, aggregateid, type, payload, headers, aggregate_version, schema_version, not_before)
values ('0190b8f0-0000-7000-8000-000000004714', 'order', '4714', 'OrderConfirmed', '{"order":4714,"total":99.90}',
        '{"tenant": "north", "tag": ["a", "b"]}', 2, 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 minute'))
on conflict (id) do nothing;
commit;
