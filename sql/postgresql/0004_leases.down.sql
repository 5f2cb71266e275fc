-- Stop all relays first. Shares that were cut come together again, at the one that is furthest behind: of two snapshots
-- the earlier has the lesser xmax, or as many or more transactions in progress below the same. What the others had sent
-- since is sent twice.
delete from outbox_position p using outbox_position behind
where behind.sink = p.sink
  and (pg_snapshot_xmax(behind.s1), -(select count(*) from pg_snapshot_xip(behind.s1)), behind.lane)
    < (pg_snapshot_xmax(p.s1), -(select count(*) from pg_snapshot_xip(p.s1)), p.lane);
update outbox_position set lane = 0, lane_to = 63, s2 = null, last = 0, ahead = '{}' where lane_to - lane < 63;

drop table outbox_lease;
