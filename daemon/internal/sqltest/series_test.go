//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

// seriesBed is a database with the tables of series.
type seriesBed struct {
	sqlServer
	db     *sql.DB
	series series.Dialect
	tenant string
}

// beds are shared by the tests. Each test's series have a tenant of their own.
var beds = map[string]func() seriesBed{
	"postgres": sync.OnceValue(func() seriesBed { return newSeriesBed(&lifetime, postgreSQL.within(&lifetime, postgreSQL.hasty())) }),
	"mysql":    sync.OnceValue(func() seriesBed { return newSeriesBed(&lifetime, mariaDB.within(&lifetime, mariaDB.hasty())) }),
}

// onSeries holds series to a rule on both kinds of server.
func onSeries(t *testing.T, rule func(*testing.T, seriesBed)) {
	t.Helper()
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		b := beds[s.scheme]()
		b.tenant = strings.TrimPrefix(strings.Split(t.Name(), "/")[0], "Test")
		rule(t, b)
	})
}

func newSeriesBed(t testing.TB, s sqlServer) seriesBed {
	t.Helper()
	b := seriesBed{sqlServer: s, db: s.admin(t), series: series.PostgreSQL}
	if s.scheme == "mysql" {
		b.series = series.MySQL
	}
	var creating sync.WaitGroup
	for range 8 { // at once
		creating.Go(func() {
			if err := series.Create(t.Context(), b.db, b.series); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	creating.Wait()
	do(t, b.db, "CREATE TABLE elsewhere (n BIGINT)")
	return b
}

func (b seriesBed) of(t *testing.T, change ...func(*series.Config)) *series.Series {
	t.Helper()
	c := series.Config{Dialect: b.series, Tenant: b.tenant, Name: "invoices", Prefix: "INV-"}
	for _, f := range change {
		f(&c)
	}
	s, err := series.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b seriesBed) begin(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := b.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// expire lets the time of reservations run out.
func (b seriesBed) expire(t *testing.T, numbers ...int64) {
	t.Helper()
	for _, n := range numbers {
		do(t, b.db, fmt.Sprintf("UPDATE snowfence_series_number SET expires_at = 1 WHERE tenant = '%s' AND name = 'invoices' AND number = %d", b.tenant, n))
	}
}

// reserve wants a number.
func reserve(t *testing.T, s *series.Series, tx series.Tx, want int64) series.Reservation {
	t.Helper()
	r, err := s.Reserve(t.Context(), tx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if r.Number != want || r.Text != s.Text(want) {
		t.Fatalf("reserved %d, %q, want %d", r.Number, r.Text, want)
	}
	return r
}

// states returns the numbers of a series and their ends, as 1 confirmed, 2 void: why.
func states(t *testing.T, s *series.Series, tx series.Tx) (all []string) {
	t.Helper()
	for e, err := range s.Audit(t.Context(), tx) {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%d %s", e.Number, e.State)
		if e.Reason != "" {
			text += ": " + e.Reason
		}
		if e.Changed.IsZero() != (e.State == series.Missing) || time.Since(e.Changed) < -time.Minute {
			t.Errorf("%s at %v", text, e.Changed)
		}
		all = append(all, text)
	}
	return all
}

func wantStates(t *testing.T, s *series.Series, tx series.Tx, want ...string) {
	t.Helper()
	if got := states(t, s, tx); !slices.Equal(got, want) {
		t.Errorf("the audit shows %q, want %q", got, want)
	}
}

func wantEnded(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, series.ErrEnded) || snowfence.ClassOf(err) != snowfence.ClassFinal {
		t.Errorf("%v, want %v", err, series.ErrEnded)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v: lacks %q", err, text)
		}
	}
}

func TestSeriesHasNoHoleAfterARollback(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t)
		for range 3 { // the first begins the series, and takes that back
			tx := b.begin(t, sql.LevelDefault)
			reserve(t, s, tx, 1)
			r := reserve(t, s, tx, 2)
			if err := s.Confirm(t.Context(), tx, r.Number, r.Token); err != nil {
				t.Fatal(err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			wantStates(t, s, b.db)
		}
		tx := b.begin(t, sql.LevelDefault)
		one, two := reserve(t, s, tx, 1), reserve(t, s, tx, 2)
		if err := errors.Join(s.Confirm(t.Context(), tx, 1, one.Token), s.Void(t.Context(), tx, 2, two.Token, "never sent"), tx.Commit()); err != nil {
			t.Fatal(err)
		}
		wantStates(t, s, b.db, "1 confirmed", "2 void: never sent")
	})
}

func TestSeriesNumberThatEndedNeverChanges(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s, ctx := b.of(t), t.Context()
		one, two := reserve(t, s, b.db, 1), reserve(t, s, b.db, 2)
		for range 2 { // the second time it is known
			if err := errors.Join(s.Confirm(ctx, b.db, 1, one.Token), s.Void(ctx, b.db, 2, two.Token, "größer als 10 €")); err != nil {
				t.Fatal(err)
			}
		}
		b.expire(t, 1, 2) // which changes nothing any more
		for _, err := range []error{s.Void(ctx, b.db, 1, one.Token, "why"), s.Confirm(ctx, b.db, 2, two.Token), s.Void(ctx, b.db, 2, two.Token, "another reason")} {
			wantEnded(t, err, b.tenant+"/invoices", "never changes")
		}
		var stored string // who reads it in the table ends nothing
		if err := b.db.QueryRowContext(ctx, "SELECT token FROM snowfence_series_number WHERE tenant = '"+b.tenant+"' AND number = 1").Scan(&stored); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{two.Token, "", stored} {
			wantEnded(t, s.Confirm(ctx, b.db, 1, token), "number 1 is confirmed", "token")
		}
		wantEnded(t, s.Confirm(ctx, b.db, 3, one.Token), "number 3", "never reserved")
		wantEnded(t, b.of(t, func(c *series.Config) { c.Name = "unbegun" }).Confirm(ctx, b.db, 1, one.Token), "never reserved")
		reserve(t, s, b.db, 3)
		wantStates(t, s, b.db, "1 confirmed", "2 void: größer als 10 €", "3 reserved")
	})
}

func TestSeriesOffersTimedOutNumbersInOrder(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s, ctx := b.of(t), t.Context()
		var first []series.Reservation
		for n := range int64(5) {
			first = append(first, reserve(t, s, b.db, n+1))
		}
		b.expire(t, 4, 2)
		wantStates(t, s, b.db, "1 reserved", "2 offered", "3 reserved", "4 offered", "5 reserved")
		wantEnded(t, s.Confirm(ctx, b.db, 2, first[1].Token), "number 2", "offered again")
		wantEnded(t, s.Void(ctx, b.db, 2, first[1].Token, "why"), "number 2", "offered again")
		two := reserve(t, s, b.db, 2)
		wantEnded(t, s.Confirm(ctx, b.db, 2, first[1].Token), "number 2", "another one can get the number")
		if err := s.Confirm(ctx, b.db, 2, two.Token); err != nil {
			t.Error(err)
		}
		wantEnded(t, s.Confirm(ctx, b.db, 2, first[1].Token), "number 2 is confirmed")
		reserve(t, s, b.db, 4)
		reserve(t, s, b.db, 6)
		if err := s.Confirm(ctx, b.db, 1, first[0].Token); err != nil {
			t.Errorf("a reservation that did not time out: %v", err)
		}
		wantStates(t, s, b.db, "1 confirmed", "2 confirmed", "3 reserved", "4 reserved", "5 reserved", "6 reserved")
	})
}

// TestSeriesTimesOutByTheDatabasesClock lets short times run out. In MariaDB it sets the clock of a session.
func TestSeriesTimesOutByTheDatabasesClock(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t)
		r, err := s.Reserve(t.Context(), b.db, 30*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(r.Until); left > time.Second || left < -time.Minute {
			t.Errorf("the reservation times out in %v", left)
		}
		testkit.Eventually(t, func(context.Context) error {
			if got := states(t, s, b.db); got[0] != "1 offered" {
				return fmt.Errorf("the audit shows %q", got)
			}
			return nil
		})
		wantEnded(t, s.Confirm(t.Context(), b.db, 1, r.Token), "offered again")
		reserve(t, s, b.db, 1)
		if b.scheme != "mysql" {
			return
		}
		tx := b.begin(t, sql.LevelReadCommitted)
		for ahead, want := range map[string]int64{"59": 2, "61": 1} {
			if _, err := tx.ExecContext(t.Context(), "SET timestamp = UNIX_TIMESTAMP(SYSDATE()) + "+ahead); err != nil {
				t.Fatal(err)
			}
			if r, err := s.Reserve(t.Context(), tx, time.Hour); err != nil || r.Number != want {
				t.Errorf("%s s later %d is reserved (%v), want %d", ahead, r.Number, err, want)
			}
		}
		if _, err := tx.ExecContext(t.Context(), "SET timestamp = DEFAULT"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSeriesHasOneWriterAtATime(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t)
		one := reserve(t, s, b.db, 1)
		tx := b.begin(t, sql.LevelReadCommitted)
		reserve(t, s, tx, 2)
		for name, verb := range map[string]func(context.Context) error{
			"reserve": func(ctx context.Context) error { _, err := s.Reserve(ctx, b.db, time.Minute); return err },
			"confirm": func(ctx context.Context) error { return s.Confirm(ctx, b.db, 1, one.Token) },
			"void":    func(ctx context.Context) error { return s.Void(ctx, b.db, 1, one.Token, "why") },
		} {
			if err := bounded(t, verb); err == nil {
				t.Errorf("%s: does not wait for the other transaction", name)
			}
		}
		wantStates(t, s, b.db, "1 reserved")
		waiting := make(chan int64)
		go func() {
			r, err := s.Reserve(t.Context(), b.db, time.Minute)
			if err != nil {
				t.Error(err)
			}
			waiting <- r.Number
		}()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := <-waiting; n != 3 {
			t.Errorf("the one who waited has number %d, want 3", n)
		}
	})
}

func TestSeriesIsSharedByAllWhoBeginIt(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t, func(c *series.Config) { c.First = 1000 })
		numbers := make([]int64, 8)
		var beginning sync.WaitGroup
		for i := range numbers {
			beginning.Go(func() {
				r, err := s.Reserve(t.Context(), b.db, time.Minute)
				if err != nil {
					t.Error(err)
				}
				numbers[i] = r.Number
			})
		}
		beginning.Wait()
		slices.Sort(numbers)
		if !slices.Equal(numbers, []int64{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007}) {
			t.Errorf("eight callers got %d", numbers)
		}
	})
}

func TestSeriesOfOtherNamesAndTenantsAreApart(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		for _, change := range []func(*series.Config){
			func(*series.Config) {},
			func(c *series.Config) { c.Name = "Invoices" },
			func(c *series.Config) { c.Name = "invoices." },
			func(c *series.Config) { c.Tenant = strings.ToUpper(c.Tenant) },
			func(c *series.Config) { c.Tenant = "" },
			func(c *series.Config) { c.Tenant, c.Name = c.Name, c.Tenant },
		} {
			s := b.of(t, change)
			r := reserve(t, s, b.db, 1)
			reserve(t, s, b.db, 2)
			if err := s.Confirm(t.Context(), b.db, 1, r.Token); err != nil {
				t.Error(err)
			}
			wantStates(t, s, b.db, "1 confirmed", "2 reserved")
		}
	})
}

func TestSeriesKeepsItsPrefixAndFirstNumber(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t)
		r := reserve(t, s, b.db, 1)
		for _, change := range []func(*series.Config){
			func(c *series.Config) { c.Prefix = "inv-" },
			func(c *series.Config) { c.First = 2 },
		} {
			other := b.of(t, change)
			_, err := other.Reserve(t.Context(), b.db, time.Minute)
			errs := []error{err, other.Confirm(t.Context(), b.db, 1, r.Token)}
			for _, err := range other.Audit(t.Context(), b.db) {
				errs = append(errs, err)
			}
			for _, err := range errs {
				if m := (*counter.MismatchError)(nil); !errors.As(err, &m) || !strings.Contains(m.Stored, `"INV-" from 1`) {
					t.Errorf("%v, want a mismatch", err)
				}
			}
			if len(errs) != 3 {
				t.Errorf("the audit yields %v", errs[2:])
			}
		}
		wantStates(t, s, b.db, "1 reserved")
	})
}

func TestSeriesEndsWithTheGreatestNumber(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		const greatest = 1<<63 - 2
		s := b.of(t, func(c *series.Config) { c.First = greatest })
		reserve(t, s, b.db, greatest)
		_, err := s.Reserve(t.Context(), b.db, time.Minute)
		if full := (*counter.FullError)(nil); !errors.As(err, &full) || full.Limit != greatest {
			t.Errorf("after the last number: %v", err)
		}
		b.expire(t, greatest)
		reserve(t, s, b.db, greatest)
	})
}

// TestSeriesAuditShowsEveryNumber shows numbers whose rows somebody deleted, at either end too.
func TestSeriesAuditShowsEveryNumber(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s := b.of(t, func(c *series.Config) { c.First = 7 })
		wantStates(t, s, b.db)
		tx := b.begin(t, sql.LevelReadCommitted)
		for n := range int64(6) {
			reserve(t, s, tx, 7+n)
		}
		do(t, b.db) // nothing: the pool has another connection
		wantStates(t, s, tx, "7 reserved", "8 reserved", "9 reserved", "10 reserved", "11 reserved", "12 reserved")
		wantStates(t, s, b.db)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		do(t, b.db, "DELETE FROM snowfence_series_number WHERE tenant = '"+b.tenant+"' AND number IN (7, 9, 10, 12)")
		wantStates(t, s, b.db, "7 missing", "8 reserved", "9 missing", "10 missing", "11 reserved", "12 missing")
		for e, err := range s.Audit(t.Context(), b.db) { // which may be left
			if e.Number != 7 || err != nil {
				t.Errorf("the audit begins with %d (%v)", e.Number, err)
			}
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Audit(ctx, b.db) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("an audit whose context has ended yields %v", err)
			}
		}
	})
}

// TestSeriesAuditHoldsNoConnection reserves by the one connection of a pool during an audit of several
// pages. The audit leaves out numbers that were reserved after it began.
func TestSeriesAuditHoldsNoConnection(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		const last = 2001
		missing := []int64{1000, 1001, last}
		s := b.of(t)
		reserve(t, s, b.db, 1)
		var rows []string
		for n := int64(2); n <= last; n++ {
			if !slices.Contains(missing, n) {
				rows = append(rows, fmt.Sprintf("('%s', 'invoices', %d, 'confirmed', 't', 1, 1)", b.tenant, n))
			}
		}
		do(t, b.db, "INSERT INTO snowfence_series_number (tenant, name, number, state, token, changed_at, expires_at) VALUES "+strings.Join(rows, ","),
			fmt.Sprintf("UPDATE snowfence_series SET next_number = %d WHERE tenant = '%s'", last+1, b.tenant))
		one := b.admin(t)
		one.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want := int64(1)
		for e, err := range s.Audit(ctx, one) {
			if err != nil || e.Number != want || (e.State == series.Missing) != slices.Contains(missing, want) {
				t.Fatalf("%+v (%v), want number %d", e, err, want)
			}
			if want%500 == 0 {
				if _, err := s.Reserve(ctx, one, time.Minute); err != nil {
					t.Fatalf("reserve during the audit: %v", err)
				}
			}
			want++
		}
		if want != last+1 {
			t.Errorf("the audit ends before %d, want %d", want, last+1)
		}
	})
}
