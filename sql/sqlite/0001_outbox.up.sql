-- The application's file. By hand: sqlite3 shop.db < 0001_outbox.up.sql
-- The relay only reads here, but for retention. What it remembers lives in a second file, shop.db-outboxd (0001_state):
-- a write of the relay between an application's read and its write would fail that application's transaction.

-- Write-ahead logging, kept in the file: readers and the writer do not wait for each other.
PRAGMA journal_mode = WAL;

CREATE TABLE outbox (
  -- One writer at a time, so ascending seq is commit order. AUTOINCREMENT: a number is never given out twice.
  seq               INTEGER PRIMARY KEY AUTOINCREMENT,
  id                TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 255)
                    DEFAULT (lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2)))
                             || '-4' || substr(lower(hex(randomblob(2))), 2)
                             || '-a' || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))),
  aggregatetype     TEXT NOT NULL,
  aggregateid       TEXT NOT NULL,
  type              TEXT NOT NULL,
  -- No declared type: kept as it was given. Text is JSON, a blob is bytes.
  payload,
  -- A JSON object of strings; an array of strings is a repeated header.
  headers           TEXT,
  aggregate_version INTEGER,
  schema_version    INTEGER,
  traceparent       TEXT,
  -- Times are UTC text, as SQLite's own date functions write them: 2026-01-31T12:00:00.000Z
  created_at        TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  not_before        TEXT CHECK (not_before IS NULL OR julianday(not_before) IS NOT NULL)
);

CREATE TABLE outbox_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

INSERT INTO outbox_meta (name, value) VALUES ('schema_version', '1');
