//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/tinyid"
)

// tiny is a database with a tiny_id_info, and a way to it whose replies can be lost.
func tiny(t *testing.T) (db, cutDB *sql.DB, cut *cutter) {
	t.Helper()
	s := sharedHome(t, "MariaDB")
	db, cut = mariaDB(t, s, nil, nil), &cutter{}
	must(t, db, tinyid.DDL())
	return db, mariaDB(t, s, cut, nil), cut
}

func tinyRow(t *testing.T, db *sql.DB, name string, last, step, delta, remainder int64) {
	t.Helper()
	must(t, db, "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES (?, ?, ?, ?, ?, ?)",
		name, last, last, step, delta, remainder)
}

func openTiny(t *testing.T, db *sql.DB, name string) *tinyid.Source {
	t.Helper()
	source, err := tinyid.Open(t.Context(), tinyid.Config{DB: db, BizType: name})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

var errTinyConflict = errors.New("get next segmentId conflict")

// tinyOriginal reserves as tinyid does: three tries in one transaction. Its numbers are found one
// by one, by their remainder.
func tinyOriginal(ctx context.Context, db *sql.DB, name string) (r counter.Range, err error) {
	err = inTransaction(ctx, db, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, func(tx *sql.Tx) error {
		for range 3 {
			var id, begin, last, step, delta, remainder, version int64
			var created, updated any
			err := tx.QueryRowContext(ctx, "select id, biz_type, begin_id, max_id, step, delta, remainder, create_time, update_time, version"+
				" from tiny_id_info where biz_type = ?", name).Scan(&id, &name, &begin, &last, &step, &delta, &remainder, &created, &updated, &version)
			if err != nil {
				return err
			}
			result, err := tx.ExecContext(ctx, "update tiny_id_info set max_id= ?, update_time=now(), version=version+1"+
				" where id=? and max_id=? and version=? and biz_type=?", last+step, id, last, version, name)
			if err != nil {
				return err
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
			return nil
		}
		return errTinyConflict
	})
	return r, err
}

func TestTinyidAndOursCountOnOneRow(t *testing.T) {
	db, _, _ := tiny(t)
	tinyRow(t, db, "orders", 1, 20, 3, 2)
	contend(t, 4_000, // most swaps come second
		func(int) draw {
			return func(ctx context.Context) (r counter.Range, err error) {
				err = errTinyConflict
				for errors.Is(err, errTinyConflict) { // its clients ask again
					r, err = tinyOriginal(ctx, db, "orders")
				}
				return r, err
			}
		},
		func(n int) draw {
			source := openTiny(t, db, "orders")
			return func(ctx context.Context) (r counter.Range, err error) {
				err = tinyid.ErrConflict
				for errors.Is(err, tinyid.ErrConflict) { // as counter.Segments does
					r, err = source.Reserve(ctx, few(int64(n)*7))
				}
				return r, err
			}
		})
}

func TestTinyidRangeHasTheNumbersOfTheRemainder(t *testing.T) {
	db, _, _ := tiny(t)
	for i, c := range []struct {
		last, step, delta, remainder, need int64
		want                               counter.Range
		end                                int64
	}{
		{last: 0, step: 100, delta: 1, need: 1, want: counter.Range{First: 1, Increment: 1, Count: 100}, end: 100},
		{last: 1, step: 100, delta: 2, remainder: 1, need: 1, want: counter.Range{First: 3, Increment: 2, Count: 50}, end: 101},
		{last: 1, step: 100, delta: 2, remainder: 0, need: 60, want: counter.Range{First: 2, Increment: 2, Count: 50}, end: 101},
		{last: 1, step: 100, delta: 2, remainder: 0, need: 100, want: counter.Range{First: 2, Increment: 2, Count: 100}, end: 201},
		{last: 5, step: 10, delta: 4, remainder: 1, need: 1, want: counter.Range{First: 9, Increment: 4, Count: 2}, end: 15},
		// A step that may hold no number is taken several times.
		{last: 0, step: 2, delta: 5, remainder: 0, need: 1, want: counter.Range{First: 5, Increment: 5, Count: 1}, end: 6},
		{last: 6, step: 1, delta: 7, remainder: 6, need: 1, want: counter.Range{First: 13, Increment: 7, Count: 1}, end: 13},
	} {
		name := fmt.Sprint("row", i)
		tinyRow(t, db, name, c.last, c.step, c.delta, c.remainder)
		got, err := openTiny(t, db, name).Reserve(t.Context(), few(c.need))
		if err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		if end := number(t, db, "SELECT max_id FROM tiny_id_info WHERE biz_type = ?", name); end != c.end {
			t.Errorf("%+v: max_id is %d", c, end)
		}
	}
	// From the end of one range the next one goes on, as tinyid's own does.
	source := openTiny(t, db, "row4")
	theirs, err := tinyOriginal(t.Context(), db, "row4") // 16 to 25
	if want := (counter.Range{First: 17, Increment: 4, Count: 3}); err != nil || theirs != want {
		t.Errorf("the original has %+v, %v", theirs, err)
	}
	if ours, err := source.Reserve(t.Context(), few(1)); err != nil || ours != (counter.Range{First: 29, Increment: 4, Count: 2}) {
		t.Errorf("then %+v, %v", ours, err)
	}
}

func TestTinyidRowThatCannotBeUsedIsRefused(t *testing.T) {
	db, _, _ := tiny(t)
	open := func(name string) error {
		_, err := tinyid.Open(t.Context(), tinyid.Config{DB: db, BizType: name})
		return err
	}
	if err := open("unknown"); !errors.Is(err, tinyid.ErrUnknownBizType) || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("unknown biz type: %v", err)
	}
	for _, c := range []struct {
		field                        string
		last, step, delta, remainder int64
	}{{"step", 1, 0, 1, 0}, {"delta", 1, 10, 0, 0}, {"remainder", 1, 10, 2, 2}, {"remainder", 1, 10, 2, -1}, {"max_id", -5, 10, 1, 0}} {
		name := fmt.Sprint(c.field, c.remainder)
		tinyRow(t, db, name, c.last, c.step, c.delta, c.remainder)
		if config := new(counter.ConfigError); !errors.As(open(name), &config) || config.Field != c.field {
			t.Errorf("%+v: %v", c, config)
		}
	}
	tinyRow(t, db, "orders", 1000, 10, 1, 0)
	source := openTiny(t, db, "orders")
	must(t, db, "UPDATE tiny_id_info SET max_id = 900 WHERE biz_type = 'orders'")
	_, err := source.Reserve(t.Context(), few(1))
	if backwards := new(counter.BackwardsError); !errors.As(err, &backwards) || backwards.Next != 901 || backwards.Mark != 1000 {
		t.Errorf("went backwards: %v", err)
	}
	must(t, db, "UPDATE tiny_id_info SET max_id = ? WHERE biz_type = 'orders'", int64(math.MaxInt64-15))
	if got, err := source.Reserve(t.Context(), few(1000)); err != nil || got.Count != 10 {
		t.Errorf("near the end: %+v, %v", got, err)
	}
	if _, err := source.Reserve(t.Context(), few(1)); !errors.Is(err, counter.ErrFull) {
		t.Errorf("at the end: %v", err)
	}
}

// TestTinyidSwapThatOthersPreventIsTriedBoundedly lets the original come first between the read
// and the swap, each time or twice.
func TestTinyidSwapThatOthersPreventIsTriedBoundedly(t *testing.T) {
	db, _, _ := tiny(t)
	for _, times := range []int{2, 100} {
		name := fmt.Sprint("orders", times)
		tinyRow(t, db, name, 0, 10, 1, 0)
		source, err := tinyid.Open(t.Context(), tinyid.Config{DB: db, BizType: name, Tries: 5})
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		got, err := source.Reserve(t.Context(), func() int64 {
			if tried++; tried <= times {
				if _, err := tinyOriginal(t.Context(), db, name); err != nil {
					t.Error(err)
				}
			}
			return 1
		})
		if times == 2 && (err != nil || got.First != 21 || tried != 3) {
			t.Errorf("others came first twice: %+v, %v, in %d tries", got, err, tried)
		}
		if times == 100 && (!errors.Is(err, tinyid.ErrConflict) || tried != 5) {
			t.Errorf("others came first each time: %+v, %v, in %d tries", got, err, tried)
		}
	}
}

func TestLostReplyOfATinyidCommitIsAGap(t *testing.T) {
	db, cutDB, cut := tiny(t)
	tinyRow(t, db, "orders", 0, 10, 1, 0)
	source := openTiny(t, cutDB, "orders")
	cut.armed.Store(true)
	if got, err := source.Reserve(t.Context(), few(1)); err == nil {
		t.Fatalf("reserved %+v, though the reply was lost", got)
	}
	if last := number(t, db, "SELECT max_id FROM tiny_id_info"); last != 10 {
		t.Fatalf("max_id is %d: the commit did not take effect", last)
	}
	if got, err := source.Reserve(t.Context(), few(1)); err != nil || got.First != 11 {
		t.Errorf("after the gap: %+v, %v", got, err)
	}
}
