CREATE TABLE IF NOT EXISTS snowfence_series (
    tenant       {name} NOT NULL,
    name         {name} NOT NULL,
    prefix       {name} NOT NULL,
    first_number BIGINT NOT NULL,
    next_number  BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
){engine};
CREATE TABLE IF NOT EXISTS snowfence_series_number (
    tenant      {name} NOT NULL,
    name        {name} NOT NULL,
    number      BIGINT NOT NULL,
    state       {name} NOT NULL DEFAULT 'reserved',
    token       {name} NOT NULL,
    changed_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    reason      {text} NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, name, number),
    UNIQUE (tenant, name, state, number),
    CHECK (state IN ('reserved', 'confirmed') AND reason = '' OR state = 'void' AND reason <> '')
){engine};
