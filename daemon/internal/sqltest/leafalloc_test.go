//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/counter/leafalloc"
)

// leafSide is a database with an empty leaf_alloc.
type leafSide struct {
	home    string // the schema of leaf_alloc
	dialect leafalloc.Dialect
	db      *sql.DB
	cut     *cutter
	cutDB   *sql.DB // the same database, by way of cut
}

// onLeaf runs a rule on MariaDB and on PostgreSQL.
func onLeaf(t *testing.T, rule func(*testing.T, leafSide)) {
	t.Helper()
	t.Run("MariaDB", func(t *testing.T) {
		s := sharedHome(t, "MariaDB")
		side := leafSide{home: s.database, dialect: leafalloc.MySQL, db: mariaDB(t, s, nil, nil), cut: &cutter{}}
		side.cutDB = mariaDB(t, s, side.cut, nil)
		must(t, side.db, leafalloc.DDL(leafalloc.MySQL))
		rule(t, side)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		s := sharedHome(t, "PostgreSQL")
		side := leafSide{home: "public", dialect: leafalloc.PostgreSQL, db: postgres(t, s, nil), cut: &cutter{}}
		side.cutDB = postgres(t, s, side.cut)
		must(t, side.db, leafalloc.DDL(leafalloc.PostgreSQL))
		rule(t, side)
	})
}

// marks returns a statement of MySQL with the marks of the dialect.
func (s leafSide) marks(statement string) string {
	for _, mark := range []string{"$1", "$2", "$3"} {
		if s.dialect == leafalloc.PostgreSQL {
			statement = strings.Replace(statement, "?", mark, 1)
		}
	}
	return statement
}

// tag adds a row.
func (s leafSide) tag(t *testing.T, tag string, next, step int64) {
	t.Helper()
	must(t, s.db, s.marks("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, ?, ?)"), tag, next, step)
}

func (s leafSide) open(t *testing.T, db *sql.DB, tag string) *leafalloc.Source {
	t.Helper()
	source, err := leafalloc.Open(t.Context(), leafalloc.Config{DB: db, Dialect: s.dialect, Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// original reserves as Leaf does: by the table's step, or by one that it has adapted.
func (s leafSide) original(tag string, adapted int64) draw {
	return func(ctx context.Context) (r counter.Range, err error) {
		update, arguments := "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?", []any{tag}
		if adapted > 0 {
			update, arguments = "UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?", []any{adapted, tag}
		}
		var end, step int64
		err = inTransaction(ctx, s.db, nil, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, s.marks(update), arguments...); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, s.marks("SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?"), tag).Scan(&tag, &end, &step)
		})
		if adapted > 0 {
			step = adapted
		}
		return counter.Range{First: end - step, Increment: 1, Count: step}, err
	}
}

func TestLeafAndOursCountOnOneRow(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		s.tag(t, "orders", 1, 10)
		contend(t, 4_000,
			func(n int) draw { return s.original("orders", int64(n%2)*40) },
			func(n int) draw {
				source := s.open(t, s.db, "orders")
				return func(ctx context.Context) (counter.Range, error) { return source.Reserve(ctx, few(int64(n)*15)) }
			})
	})
}

func TestLeafRangeIsTheStepOrAMultiple(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		s.tag(t, "orders", 1, 100)
		source := s.open(t, s.db, "orders")
		reserve := func(need int64, want counter.Range) {
			t.Helper()
			got, err := source.Reserve(t.Context(), few(need))
			if err != nil || got != want {
				t.Errorf("for %d: %+v, %v; want %+v", need, got, err, want)
			}
		}
		reserve(1, counter.Range{First: 1, Increment: 1, Count: 100})
		reserve(100, counter.Range{First: 101, Increment: 1, Count: 100})
		reserve(399, counter.Range{First: 201, Increment: 1, Count: 300})
		must(t, s.db, "UPDATE leaf_alloc SET step = 7")
		reserve(100, counter.Range{First: 501, Increment: 1, Count: 100}) // the step is read with this one
		if source.Step() != 7 {
			t.Errorf("the step is %d", source.Step())
		}
		reserve(20, counter.Range{First: 601, Increment: 1, Count: 14})
		if next := number(t, s.db, "SELECT max_id FROM leaf_alloc"); next != 615 {
			t.Errorf("max_id is %d", next)
		}
	})
}

func TestLeafRowThatCannotBeUsedIsRefused(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		open := func(tag string) error {
			_, err := leafalloc.Open(t.Context(), leafalloc.Config{DB: s.db, Dialect: s.dialect, Tag: tag})
			return err
		}
		if err := open("unknown"); !errors.Is(err, leafalloc.ErrUnknownTag) || !strings.Contains(err.Error(), `"unknown"`) {
			t.Errorf("unknown tag: %v", err)
		}
		s.tag(t, "flat", 1, 0)
		if config := new(counter.ConfigError); !errors.As(open("flat"), &config) || config.Field != "step" || config.Value != "0" {
			t.Errorf("step 0: %v", config)
		}
		s.tag(t, "orders", 1, 10)
		source := s.open(t, s.db, "orders")
		refused := func(as any) {
			t.Helper()
			before := number(t, s.db, "SELECT coalesce(max(max_id), 0) FROM leaf_alloc WHERE biz_tag = 'orders'")
			if _, err := source.Reserve(t.Context(), few(1)); !errors.As(err, as) {
				t.Errorf("%T: %v", as, err)
			}
			if after := number(t, s.db, "SELECT coalesce(max(max_id), 0) FROM leaf_alloc WHERE biz_tag = 'orders'"); after != before {
				t.Errorf("%T: max_id went from %d to %d", as, before, after)
			}
		}
		must(t, s.db, "UPDATE leaf_alloc SET max_id = 1000 WHERE biz_tag = 'orders'")
		if _, err := source.Reserve(t.Context(), few(1)); err != nil {
			t.Error(err)
		}
		must(t, s.db, "UPDATE leaf_alloc SET max_id = 900 WHERE biz_tag = 'orders'")
		backwards := new(counter.BackwardsError)
		if refused(&backwards); backwards.Next != 900 || backwards.Mark != 1009 {
			t.Errorf("went backwards: %v", backwards)
		}
		must(t, s.db, s.marks("UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = 'orders'"), int64(math.MaxInt64-15))
		if got, err := source.Reserve(t.Context(), few(1)); err != nil || got.Count != 10 {
			t.Errorf("near the end: %+v, %v", got, err)
		}
		refused(new(*counter.FullError))
		must(t, s.db, "UPDATE leaf_alloc SET max_id = 5000 WHERE biz_tag = 'orders'")
		source = s.open(t, s.db, "orders")
		must(t, s.db, "DELETE FROM leaf_alloc")
		if _, err := source.Reserve(t.Context(), few(1)); !errors.Is(err, leafalloc.ErrUnknownTag) {
			t.Errorf("without its row: %v", err)
		}
	})
}

func TestLeafTableWithoutTransactionsIsRefused(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		if s.dialect != leafalloc.MySQL {
			return // PostgreSQL has no tables without transactions
		}
		s.tag(t, "orders", 1, 10)
		for _, engine := range []string{"MyISAM", "Aria", "InnoDB"} {
			must(t, s.db, "ALTER TABLE leaf_alloc ENGINE = "+engine)
			_, err := leafalloc.Open(t.Context(), leafalloc.Config{DB: s.db, Dialect: s.dialect, Tag: "orders"})
			config := new(counter.ConfigError)
			if refused := errors.As(err, &config) && config.Field == "engine" && config.Value == engine; refused != (engine != "InnoDB") {
				t.Errorf("%s: %v", engine, err)
			}
		}
	})
}

func TestLostReplyOfALeafCommitIsAGap(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		s.tag(t, "orders", 1, 10)
		source := s.open(t, s.cutDB, "orders")
		s.cut.armed.Store(true)
		if got, err := source.Reserve(t.Context(), few(1)); err == nil {
			t.Fatalf("reserved %+v, though the reply was lost", got)
		}
		if next := number(t, s.db, "SELECT max_id FROM leaf_alloc"); next != 11 {
			t.Fatalf("max_id is %d: the commit did not take effect", next)
		}
		if got, err := source.Reserve(t.Context(), few(1)); err != nil || got.First != 11 {
			t.Errorf("after the gap: %+v, %v", got, err)
		}
	})
}

func TestTicketsOfLeafIncreaseInTheOrderOfTime(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		s.tag(t, "orders", 1, 1)
		all := drawTickets(t, func() counter.Source { return s.open(t, s.db, "orders") })
		if err := countertest.Order(all); err != nil {
			t.Error(err)
		}
		if next := number(t, s.db, "SELECT max_id FROM leaf_alloc"); next != int64(len(all))+1 {
			t.Errorf("max_id is %d after %d tickets: there are gaps", next, len(all))
		}
	})
}
