CREATE TABLE IF NOT EXISTS {table} (
    key   bytea NOT NULL PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 200),
    token bytea NOT NULL CHECK (octet_length(token) = 16),
    value bytea NOT NULL CHECK (octet_length(value) <= 4096)
) WITH (fillfactor = 70);
