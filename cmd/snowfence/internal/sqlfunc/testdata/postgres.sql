-- Reads ids of the layout ms41-worker10-seq12@2026-01-01T00:00:00Z.
-- An integer that is not of the layout gives NULL.
-- Made by: snowfence sql postgres --layout ms41-worker10-seq12@2026-01-01T00:00:00Z --prefix orders
-- For PostgreSQL 14 and newer. It needs the right to create functions in a schema.

-- ticks of 1ms since 2026-01-01T00:00:00Z
CREATE OR REPLACE FUNCTION orders_tick(id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN id BETWEEN 0 AND 9223372036854775807
    THEN ((id >> 22) & 2199023255551) END
$$;

-- worker, 0 to 1023
CREATE OR REPLACE FUNCTION orders_worker(id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN id BETWEEN 0 AND 9223372036854775807
    THEN ((id >> 12) & 1023) END
$$;

-- sequence, 0 to 4095
CREATE OR REPLACE FUNCTION orders_sequence(id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN id BETWEEN 0 AND 9223372036854775807
    THEN ((id >> 0) & 4095) END
$$;

-- the instant at which the tick begins
CREATE OR REPLACE FUNCTION orders_time(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN id BETWEEN 0 AND 9223372036854775807
    THEN (timestamp '2026-01-01 00:00:00'
      + ((id >> 22) & 1048575) * interval '1000 microseconds'
      + ((id >> 42) & 2097151) * interval '1048576000 microseconds') AT TIME ZONE 'UTC' END
$$;

-- the lowest id at or after a moment, NULL from the horizon on:
-- WHERE id BETWEEN orders_from('2026-11-01 UTC') AND orders_until('2026-12-01 UTC')
CREATE OR REPLACE FUNCTION orders_from(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT NULLIF(least(greatest(div(extract(epoch FROM moment AT TIME ZONE 'UTC') * 1000000 - (1767225599999001), 1000), 0), 2199023255552)::bigint, 2199023255552) << 22
$$;

-- the highest id before a moment, NULL up to the epoch
CREATE OR REPLACE FUNCTION orders_until(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ((NULLIF(least(greatest(div(extract(epoch FROM moment AT TIME ZONE 'UTC') * 1000000 - (1767225599999001), 1000), 0), 2199023255552)::bigint, 0) - 1) << 22) | 4194303
$$;
