-- Reads ids of the layout 10ms39-seq8-worker16@2014-09-01T00:00:00Z.
-- An integer that is not of the layout gives NULL.
-- Made by: snowfence sql sqlite --layout 10ms39-seq8-worker16@2014-09-01T00:00:00Z --prefix orders
--   --table orders --column id
-- SQLite has no stored functions, so this is a view. The column holds integers.
-- Times are text in UTC, to the microsecond. For scans by key: snowfence bounds FROM TO
CREATE VIEW orders_ids AS SELECT
  "id" AS id
  -- ticks of 10ms since 2014-09-01T00:00:00Z
  , CASE WHEN "id" BETWEEN 0 AND 9223372036854775807
    THEN (("id" >> 24) & 549755813887) END AS tick
  -- sequence, 0 to 255
  , CASE WHEN "id" BETWEEN 0 AND 9223372036854775807
    THEN (("id" >> 16) & 255) END AS sequence
  -- worker, 0 to 65535
  , CASE WHEN "id" BETWEEN 0 AND 9223372036854775807
    THEN (("id" >> 0) & 65535) END AS worker
  -- the instant at which the tick begins
  , CASE WHEN "id" BETWEEN 0 AND 9223372036854775807
    THEN strftime('%Y-%m-%dT%H:%M:%S', 1409529600 + ((("id" >> 24) & 549755813887) * 10000 + 0) / 1000000, 'unixepoch')
      || printf('.%06dZ', ((("id" >> 24) & 549755813887) * 10000 + 0) % 1000000) END AS time
FROM "orders";
