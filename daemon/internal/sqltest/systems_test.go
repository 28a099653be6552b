//go:build servers

package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/tinyid"
	"snowfence.example/snowfence/internal/testkit"
)

// total is how many reservations are made of one row or key, half of them by the original's
// statements. The default takes seconds.
var total = flag.Int("schemas.reservations", 800, "reservations of each row or key; the long run has 100000")

// writers is how many there are of each side.
const writers = 8

// A draw makes one reservation.
type draw func(context.Context) (counter.Range, error)

// system is a table or a key in which another system counts, and ours beside it. A counter named orders
// gives numbers from 1 on, by steps of 10, if there are steps.
type system struct {
	sqlServer
	kind   string
	via    login   // how processes connect
	shared *sql.DB // nil means that each process has a pool of its own

	open     func(*testing.T, system) (counter.Source, error) // ours, as a process that starts
	original func(db *sql.DB, n int) draw                     // the n-th client of the other system
	unknown  error                                            // without its row

	set    string // sets columns of the row; empty without one
	count  func(*testing.T) int64
	lower  func(*testing.T)
	raise  func(t *testing.T, mark int64) // so that greater numbers come
	remedy func(mark int64) string        // the error's advice for an operator
	again  bool                           // and to start the process again
}

// systems are the systems with a server that tests share.
var systems = map[string]func(*testing.T) system{
	"leafalloc":               func(t *testing.T) system { return leaf(t, mariaDB.within(t, mariaDB.hasty())) },
	"leafalloc on PostgreSQL": func(t *testing.T) system { return leaf(t, postgreSQL.within(t, postgreSQL.hasty())) },
	"tinyid":                  func(t *testing.T) system { return tiny(t, mariaDB.within(t, mariaDB.hasty())) },
	"flickr":                  func(t *testing.T) system { return tickets(t, mariaDB.within(t, mariaDB.hasty())) },
	"rediscount":              func(t *testing.T) system { return onRedis(t).system(sharedRedis()) },
}

// eachSystem runs a rule on the named systems, or on the systems whose tables have rows of a name.
func eachSystem(t *testing.T, rule func(*testing.T, system), names ...string) {
	t.Helper()
	if len(names) == 0 {
		names = []string{"leafalloc", "leafalloc on PostgreSQL", "tinyid"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { rule(t, systems[name](t)) })
	}
}

// pool connects as a process does.
func (y system) pool(t *testing.T) *sql.DB {
	t.Helper()
	if y.shared != nil {
		return y.shared
	}
	return y.connect(t, y.via)
}

// process opens ours.
func (y system) process(t *testing.T) counter.Source {
	t.Helper()
	source, err := y.open(t, y)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// row sets columns of the row.
func (y system) row(t *testing.T, columns string) {
	t.Helper()
	do(t, y.admin(t), y.set+columns)
}

// few is a need of n numbers.
func few(n int64) func() int64 { return func() int64 { return n } }

// apart returns an error if ranges have a number in common.
func apart(ranges []counter.Range) error {
	slices.SortFunc(ranges, func(a, b counter.Range) int { return cmp.Compare(a.First, b.First) })
	for i, r := range ranges {
		if r.Count < 1 {
			return fmt.Errorf("a range without numbers: %+v", r)
		}
		if i > 0 && r.First <= ranges[i-1].Last() {
			return fmt.Errorf("%+v and %+v overlap", ranges[i-1], r)
		}
	}
	return nil
}

// contend lets writers of both sides reserve at the same time. Ranges must not have a number in common.
// Each writer is made by a call of its own, as in a process of its own.
func contend(t *testing.T, y system, ours func(n int) draw) {
	t.Helper()
	var mu sync.Mutex
	var all []counter.Range
	var wait sync.WaitGroup
	for n := range writers {
		for _, reserve := range []draw{y.original(y.pool(t), n), ours(n)} {
			wait.Go(func() {
				for range *total / 2 / writers {
					r, err := reserve(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					all = append(all, r)
					mu.Unlock()
				}
			})
		}
	}
	wait.Wait()
	if err := apart(all); err != nil {
		t.Error(err)
	}
}

// inTransaction runs statements in one transaction.
func inTransaction(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// The tables of the other systems, as these make them. MySQL's leaf_alloc ends otherwise than PostgreSQL's.
const (
	leafTable = `CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step int NOT NULL,
		description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP`
	leafEnd   = " ON UPDATE CURRENT_TIMESTAMP) ENGINE = InnoDB"
	tinyTable = `CREATE TABLE tiny_id_info (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, biz_type varchar(63) NOT NULL DEFAULT '' UNIQUE,
		begin_id bigint NOT NULL DEFAULT 0, max_id bigint NOT NULL DEFAULT 0, step int DEFAULT 0, delta int NOT NULL DEFAULT 1, remainder int NOT NULL DEFAULT 0,
		create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
		version bigint NOT NULL DEFAULT 0) ENGINE = InnoDB`
	ticketsTable = `CREATE TABLE Tickets64 (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, stub char(1) NOT NULL DEFAULT '' UNIQUE) ENGINE = InnoDB`
)

// leaf makes a leaf_alloc.
func leaf(t *testing.T, s sqlServer) system {
	t.Helper()
	y := system{
		sqlServer: s, kind: "leafalloc", unknown: leafalloc.ErrUnknownTag, set: "UPDATE leaf_alloc SET ",
		count: func(t *testing.T) int64 { return read[int64](t, s.admin(t), "SELECT max_id - 1 FROM leaf_alloc") },
		lower: func(t *testing.T) { do(t, s.admin(t), "UPDATE leaf_alloc SET max_id = 1") },
		raise: func(t *testing.T, mark int64) {
			do(t, s.admin(t), fmt.Sprint("UPDATE leaf_alloc SET max_id = ", mark+1))
		},
		remedy: func(mark int64) string {
			return fmt.Sprintf(`set max_id of biz_tag "orders" in leaf_alloc to %d or more`, mark+1)
		},
	}
	dialect := leafalloc.MySQL
	if s.scheme == "postgres" {
		dialect = leafalloc.PostgreSQL
	}
	y.open = func(t *testing.T, y system) (counter.Source, error) {
		return leafalloc.Open(t.Context(), leafalloc.Config{DB: y.pool(t), Dialect: dialect, Tag: "orders"})
	}
	// By the table's step, or by one that it has adapted.
	y.original = func(db *sql.DB, n int) draw {
		step := []string{"step", "40"}[n%2]
		return func(ctx context.Context) (r counter.Range, err error) {
			r.Increment = 1
			err = inTransaction(ctx, db, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, "UPDATE leaf_alloc SET max_id = max_id + "+step+" WHERE biz_tag = 'orders'"); err != nil {
					return err
				}
				return tx.QueryRowContext(ctx, "SELECT max_id - "+step+", "+step+" FROM leaf_alloc WHERE biz_tag = 'orders'").Scan(&r.First, &r.Count)
			})
			return r, err
		}
	}
	end := ")"
	if dialect == leafalloc.MySQL {
		end = leafEnd
	}
	do(t, s.admin(t), leafTable+end, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
	return y
}

var errTinyConflict = errors.New("get next segmentId conflict")

// tiny makes a tiny_id_info.
func tiny(t *testing.T, s sqlServer) system {
	t.Helper()
	do(t, s.admin(t), tinyTable, "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES ('orders', 0, 0, 10, 1, 0)")
	return system{
		sqlServer: s, kind: "tinyid", unknown: tinyid.ErrUnknownBizType, set: "UPDATE tiny_id_info SET ",
		count: func(t *testing.T) int64 { return read[int64](t, s.admin(t), "SELECT max_id FROM tiny_id_info") },
		lower: func(t *testing.T) { do(t, s.admin(t), "UPDATE tiny_id_info SET max_id = 0") },
		raise: func(t *testing.T, mark int64) {
			do(t, s.admin(t), fmt.Sprint("UPDATE tiny_id_info SET max_id = ", mark))
		},
		remedy: func(mark int64) string {
			return fmt.Sprintf(`set max_id of biz_type "orders" in tiny_id_info to %d or more`, mark)
		},
		open: func(t *testing.T, y system) (counter.Source, error) {
			return tinyid.Open(t.Context(), tinyid.Config{DB: y.pool(t), BizType: "orders", Tries: 5})
		},
		original: func(db *sql.DB, _ int) draw {
			return func(ctx context.Context) (r counter.Range, err error) {
				err = errTinyConflict
				for errors.Is(err, errTinyConflict) { // its clients ask again
					err = inTransaction(ctx, db, func(tx *sql.Tx) (err error) { r, err = tinySegment(ctx, tx); return err })
				}
				return r, err
			}
		},
	}
}

// tinySegment reserves as tinyid does: three tries in one transaction. Its numbers are found one by one, by their remainder.
func tinySegment(ctx context.Context, tx *sql.Tx) (r counter.Range, err error) {
	for range 3 {
		var id, last, step, delta, remainder, version int64
		if err := tx.QueryRowContext(ctx, "select id, max_id, step, delta, remainder, version from tiny_id_info where biz_type = 'orders'").
			Scan(&id, &last, &step, &delta, &remainder, &version); err != nil {
			return r, err
		}
		result, err := tx.ExecContext(ctx, "update tiny_id_info set max_id= ?, update_time=now(), version=version+1"+
			" where id=? and max_id=? and version=? and biz_type='orders'", last+step, id, last, version)
		if err != nil {
			return r, err
		}
		if changed, err := result.RowsAffected(); err != nil || changed == 0 {
			continue
		}
		r = counter.Range{Increment: delta}
		for n := last + 1; n <= last+step; n++ {
			if n%delta == remainder {
				if r.Count++; r.Count == 1 {
					r.First = n
				}
			}
		}
		return r, nil
	}
	return r, errTinyConflict
}

// tickets is a ticket server alone.
func tickets(t *testing.T, s sqlServer) system {
	t.Helper()
	do(t, s.admin(t), ticketsTable)
	return system{
		sqlServer: s, kind: "flickr", again: true,
		lower: func(t *testing.T) { do(t, s.admin(t), "TRUNCATE TABLE Tickets64") },
		raise: func(t *testing.T, mark int64) {
			do(t, s.admin(t), fmt.Sprint("ALTER TABLE Tickets64 AUTO_INCREMENT = ", mark+1))
		},
		remedy: func(mark int64) string {
			return fmt.Sprintf("set AUTO_INCREMENT of Tickets64 on that server above all numbers in use, %d or more, and start this process again", mark+1)
		},
		open: func(t *testing.T, y system) (counter.Source, error) {
			return flickr.Open(t.Context(), flickr.Config{Timeout: testkit.Hang, Servers: []flickr.Server{{Name: "a", DB: y.pool(t)}}})
		},
		original: func(db *sql.DB, _ int) draw {
			return func(ctx context.Context) (r counter.Range, err error) {
				for r, err = ticket(ctx, db); deadlocked(err); { // its clients ask again
					r, err = ticket(ctx, db)
				}
				return r, err
			}
		},
	}
}

// deadlocked reports whether InnoDB has ended a statement for another one.
func deadlocked(err error) bool { return err != nil && strings.Contains(err.Error(), "Deadlock") }

// ticket draws as Flickr's clients do: both statements on one connection.
func ticket(ctx context.Context, db *sql.DB) (counter.Range, error) {
	r := counter.Range{Increment: 1, Count: 1}
	connection, err := db.Conn(ctx)
	if err != nil {
		return r, err
	}
	defer connection.Close() //nolint:errcheck // it goes back to its pool
	if _, err := connection.ExecContext(ctx, "REPLACE INTO Tickets64 (stub) VALUES ('a')"); err != nil {
		return r, err
	}
	return r, connection.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&r.First)
}

// commits matches the request for a COMMIT: as a query of PostgreSQL, or as a command of MySQL.
func commits(request []byte) bool {
	text := strings.ToUpper(string(request))
	return strings.Contains(text, "COMMIT\x00") || strings.Contains(text, "\x03COMMIT")
}
