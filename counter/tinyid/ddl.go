package tinyid

// DDL returns the statement that creates tiny_id_info, for a database in which tinyid has not made it. The rows are
// the program's: biz_type, max_id, which is the last number in use, step, delta and remainder.
func DDL() string {
	return `CREATE TABLE IF NOT EXISTS tiny_id_info (
    id          bigint unsigned NOT NULL AUTO_INCREMENT,
    biz_type    varchar(63) NOT NULL DEFAULT '',
    begin_id    bigint NOT NULL DEFAULT 0,
    max_id      bigint NOT NULL DEFAULT 0,
    step        int DEFAULT 0,
    delta       int NOT NULL DEFAULT 1,
    remainder   int NOT NULL DEFAULT 0,
    create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
    update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
    version     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_biz_type (biz_type)
) ENGINE = InnoDB`
}
