package flickr

// DDL returns the statement that creates Tickets64 on a ticket server.
func DDL() string {
	return `CREATE TABLE IF NOT EXISTS Tickets64 (
    id   bigint unsigned NOT NULL AUTO_INCREMENT,
    stub char(1) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY stub (stub)
) ENGINE = InnoDB`
}
