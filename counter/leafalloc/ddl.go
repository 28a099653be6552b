package leafalloc

import "strings"

// DDL returns the statement that creates leaf_alloc, for a database in which Leaf has not made it. The rows are the
// program's: biz_tag, max_id, which is the next number, and step.
func DDL(d Dialect) string {
	const table = `CREATE TABLE IF NOT EXISTS leaf_alloc (
    biz_tag     varchar(128) NOT NULL DEFAULT '',
    max_id      bigint NOT NULL DEFAULT 1,
    step        int NOT NULL,
    description varchar(256) DEFAULT NULL,
    update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP{update},
    PRIMARY KEY (biz_tag)
){engine}`
	own := strings.NewReplacer("{update}", "", "{engine}", "")
	if d == MySQL {
		own = strings.NewReplacer("{update}", " ON UPDATE CURRENT_TIMESTAMP", "{engine}", " ENGINE = InnoDB")
	}
	return own.Replace(table)
}
