-- Stop all relays first. Shares cut from one position come together again, at the one that is furthest behind: what the
-- others had sent since is sent twice.
delete from outbox_position p using outbox_position behind
where behind.sink = p.sink and behind.lane <> p.lane
  and (pg_snapshot_xmin(behind.s1), behind.last, behind.lane) < (pg_snapshot_xmin(p.s1), p.last, p.lane);
update outbox_position set lane = 0, lane_to = 63;

drop table outbox_lease;
