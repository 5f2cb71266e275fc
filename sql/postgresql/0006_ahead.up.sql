-- Which row an entry of `ahead` means: the transaction that wrote it, beside the seq in the same place. A seq alone may
-- be given out again (TRUNCATE ... RESTART IDENTITY). Entries of before have none: whoever takes the position over next
-- looks them up.
alter table outbox_position add column ahead_xid xid8[] not null default '{}';
