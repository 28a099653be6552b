CREATE TABLE IF NOT EXISTS {table} (
    `key`   VARBINARY(200)  NOT NULL,
    `token` BINARY(16)      NOT NULL,
    `value` VARBINARY(4096) NOT NULL,
    PRIMARY KEY (`key`)
) ENGINE = InnoDB;
