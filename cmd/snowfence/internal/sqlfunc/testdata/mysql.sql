-- Reads ids of the layout unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z.
-- A negative integer is an id with the 64th bit.
-- Made by: snowfence sql mysql --layout unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z --prefix orders
-- For MySQL 8 and MariaDB, and columns of BIGINT and BIGINT UNSIGNED. It needs the rights CREATE
-- ROUTINE and ALTER ROUTINE. With a binary log a server may want the setting
-- log_bin_trust_function_creators = 1, a parameter of managed databases.
-- Times are DATETIME(6) in UTC, whatever the zone of the session.

-- ticks of 1ms since 2015-01-01T00:00:00Z
DROP FUNCTION IF EXISTS orders_tick;
CREATE FUNCTION orders_tick(id DECIMAL(20)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  ((CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED) >> 22) & 4398046511103);

-- datacenter, 0 to 31
DROP FUNCTION IF EXISTS orders_datacenter;
CREATE FUNCTION orders_datacenter(id DECIMAL(20)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  ((CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED) >> 17) & 31);

-- worker, 0 to 31
DROP FUNCTION IF EXISTS orders_worker;
CREATE FUNCTION orders_worker(id DECIMAL(20)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  ((CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED) >> 12) & 31);

-- sequence, 0 to 4095
DROP FUNCTION IF EXISTS orders_sequence;
CREATE FUNCTION orders_sequence(id DECIMAL(20)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  ((CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED) >> 0) & 4095);

-- the instant at which the tick begins
DROP FUNCTION IF EXISTS orders_time;
CREATE FUNCTION orders_time(id DECIMAL(20)) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  TIMESTAMP'2015-01-01 00:00:00' + INTERVAL ((CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED) >> 22) & 4398046511103) * 1000 MICROSECOND;

-- the lowest id at or after a moment, NULL from the horizon on:
-- WHERE id BETWEEN orders_from('2026-11-01') AND orders_until('2026-12-01')
DROP FUNCTION IF EXISTS orders_from;
CREATE FUNCTION orders_from(moment DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  NULLIF(LEAST(GREATEST((TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'2015-01-01 00:00:00', moment) + 999) DIV 1000, 0), 2199023255552), 2199023255552) << 22;

-- the highest id before a moment, NULL up to the epoch
DROP FUNCTION IF EXISTS orders_until;
CREATE FUNCTION orders_until(moment DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN
  ((NULLIF(LEAST(GREATEST((TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'2015-01-01 00:00:00', moment) + 999) DIV 1000, 0), 2199023255552), 0) - 1) << 22) | 4194303;
