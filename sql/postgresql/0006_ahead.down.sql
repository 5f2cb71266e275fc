alter table outbox_position drop column ahead_xid;
