//go:build servers

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/counter/tinyid"
	"snowfence.example/snowfence/internal/testkit"
)

func TestOriginalAndOursGiveNoNumberTwice(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		if y.kind == "tinyid" {
			y.row(t, "step = 20, delta = 3, remainder = 2")
		}
		contend(t, y, func(n int) draw {
			source := y.process(t)
			return func(ctx context.Context) (r counter.Range, err error) {
				err = tinyid.ErrConflict
				for errors.Is(err, tinyid.ErrConflict) || deadlocked(err) { // as counter.Segments does
					r, err = source.Reserve(ctx, few(int64(n)*5))
				}
				return r, err
			}
		})
	}, slices.Collect(maps.Keys(systems))...)
}

// TestSegmentsOfTinyidShareItsRow gives numbers one by one from segments of several processes, beside the original.
func TestSegmentsOfTinyidShareItsRow(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		y.row(t, "step = 20, delta = 2, remainder = 1")
		contend(t, y, func(int) draw {
			source := y.process(t)
			segments, err := counter.NewSegments(t.Context(), source, counter.SegmentsConfig{Config: counter.Config{Name: "orders", MaxWait: time.Minute}, Step: source.(*tinyid.Source).Step()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = segments.Close(context.Background()) })
			return func(ctx context.Context) (counter.Range, error) {
				id, err := segments.Next(ctx)
				if id%2 != 1 {
					err = errors.Join(err, fmt.Errorf("%d does not leave the remainder 1", id))
				}
				return counter.Range{First: int64(id), Increment: 1, Count: 1}, err
			}
		})
	}, "tinyid")
}

func TestTicketsIncreaseInTheOrderOfTime(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		if y.set != "" {
			y.row(t, "step = 1")
		}
		clock := snowfence.SystemClock()
		var all []countertest.Drawn
		var mu sync.Mutex
		var wait sync.WaitGroup
		for range 3 { // processes, with four callers each
			tickets := counter.NewTickets(y.process(t), counter.Config{Name: "orders", MaxWait: time.Minute})
			t.Cleanup(func() { _ = tickets.Close(context.Background()) })
			for range 4 {
				wait.Go(func() {
					for range 100 {
						begun := clock.Monotonic()
						id, err := tickets.Next(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						all = append(all, countertest.Drawn{Number: int64(id), Begun: begun, End: clock.Monotonic()})
						mu.Unlock()
					}
				})
			}
		}
		wait.Wait()
		if err := countertest.Order(all); err != nil {
			t.Error(err)
		}
		if n := y.count(t); n != int64(len(all)) {
			t.Errorf("it has counted to %d after %d tickets: there are gaps", n, len(all))
		}
	}, "leafalloc", "leafalloc on PostgreSQL", "rediscount")
}

func TestLostReplyOfACommitIsAGap(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		network := testkit.NewProxy(t, y.server.Addr())
		y.via.address = network.Addr()
		source := y.process(t)
		lost := network.LoseReplyTo(commits)
		if got, err := source.Reserve(t.Context(), few(1)); err == nil {
			t.Fatalf("reserved %+v, though the reply was lost", got)
		}
		<-lost
		if n := y.count(t); n != 10 {
			t.Fatalf("it has counted to %d: the commit did not take effect", n)
		}
		if got, err := source.Reserve(t.Context(), few(1)); err != nil || got.First != 11 {
			t.Errorf("after the gap: %+v, %v", got, err)
		}
	})
}

// TestColumnThatIsTooNarrowRepeatsNoNumber has two processes reserve in turn, until their column is
// full. A server without strict mode stores its greatest number then, with a warning.
func TestColumnThatIsTooNarrowRepeatsNoNumber(t *testing.T) {
	const last = 1<<31 - 1 // of an int
	for name, narrow := range map[string]string{
		"leafalloc": "ALTER TABLE leaf_alloc MODIFY max_id int NOT NULL",
		"tinyid":    "ALTER TABLE tiny_id_info MODIFY max_id int NOT NULL",
		"flickr":    "ALTER TABLE Tickets64 MODIFY id int NOT NULL AUTO_INCREMENT",
	} {
		eachSystem(t, func(t *testing.T, y system) {
			do(t, y.admin(t), narrow)
			if y.raise(t, last-15); name == "flickr" {
				y.raise(t, last-3)
			}
			y.via.query = "sql_mode=%27%27"
			a, err := y.open(t, y)
			b, again := y.open(t, y)
			if errors.Join(err, again) != nil {
				t.Log(err)
				return // it is refused at once
			}
			var all []counter.Range
			for range 5 {
				for _, source := range []counter.Source{b, a} {
					got, err := source.Reserve(t.Context(), few(1))
					if err != nil {
						t.Log(err)
						continue
					}
					all = append(all, got)
				}
			}
			if err := apart(all); err != nil || len(all) == 0 {
				t.Errorf("%d reservations, though the column had room: %v", len(all), err)
			}
		}, name)
	}
}

func TestRowThatCannotBeUsedIsRefused(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		unfit := map[string]string{"step = 0": "step", "max_id = -5": "max_id"}
		fit := "step = 10, max_id = 1"
		if y.kind == "tinyid" {
			maps.Copy(unfit, map[string]string{"delta = 0": "delta", "delta = 2, remainder = 2": "remainder", "remainder = -1": "remainder"})
			fit += ", delta = 1, remainder = 0"
		}
		for columns, field := range unfit {
			y.row(t, columns)
			_, err := y.open(t, y)
			if config := new(counter.ConfigError); !errors.As(err, &config) || config.Field != field {
				t.Errorf("%s: %v, want %s to be refused", columns, err, field)
			}
			y.row(t, fit)
		}
		y.process(t)
	})
}

// TestRowThatIsGoneEndsCallsAtOnce wants the reason, instead of a wait for a store that is not away.
func TestRowThatIsGoneEndsCallsAtOnce(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		tickets := counter.NewTickets(y.process(t), counter.Config{Name: "orders"})
		t.Cleanup(func() { _ = tickets.Close(context.Background()) })
		if _, err := tickets.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		do(t, y.admin(t), strings.NewReplacer("UPDATE ", "DELETE FROM ", " SET ", "").Replace(y.set))
		if _, err := tickets.Next(t.Context()); !errors.Is(err, y.unknown) || errors.Is(err, counter.ErrUnavailable) {
			t.Errorf("without its row: %v", err)
		}
		if _, err := y.open(t, y); !errors.Is(err, y.unknown) || !strings.Contains(err.Error(), `"orders"`) {
			t.Errorf("opened without its row: %v", err)
		}
	})
}

// TestStatusShowsWhyASourceGivesNoNumberMore ends the numbers of each system. Readiness rests on the last error of the status.
func TestStatusShowsWhyASourceGivesNoNumberMore(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		end := int64(math.MaxInt64 - 16) // there is room for one step of 10
		if y.set == "" {
			end = 999_990
		}
		y.raise(t, end)
		source := y.process(t)
		segments, err := counter.NewSegments(t.Context(), source, counter.SegmentsConfig{Config: counter.Config{Name: "orders"}, Step: 9})
		if err != nil {
			t.Fatal(err)
		}
		unused := counter.QueryGuard{Greatest: func(context.Context) (int64, error) { return -1, nil }}
		for kind, of := range map[string]interface {
			Fill(context.Context, []snowfence.ID) error
			Close(context.Context) error
			Status() counter.Status
		}{"segments": segments, "tickets": counter.NewTickets(counter.Guarded(source, unused, "orders"), counter.Config{Name: "orders"})} {
			var full *counter.FullError
			if err := of.Fill(t.Context(), make([]snowfence.ID, 11)); !errors.As(err, &full) || !errors.As(of.Status().LastError, &full) {
				t.Errorf("%s: the call returns %v, the status %v; want %T", kind, err, of.Status().LastError, full)
			}
			if err := of.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := y.count(t); n < end || n > end+10 {
			t.Errorf("refused reservations move it from %d to %d", end, n)
		}
	}, "leafalloc", "leafalloc on PostgreSQL", "tinyid", "rediscount")
}

// TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost shares one session with a client that changes it.
// The reservation then fails by the name of the setting, and the row stays. Or it takes effect in the table that was meant.
func TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		other, table := "other_"+y.database, strings.Fields(y.set)[1]
		changes := map[string]string{"SET sql_log_bin = 0": "sql_log_bin is", "SET autocommit = 0": "", "START TRANSACTION": "", "USE " + other: ""}
		if y.scheme == "postgres" {
			changes = map[string]string{"SET synchronous_commit = off": "synchronous_commit is off", "SET search_path = " + other: "",
				"CREATE TEMPORARY TABLE leaf_alloc (LIKE public.leaf_alloc INCLUDING ALL)": "", "SET default_transaction_isolation = serializable": ""}
		}
		if y.kind == "tinyid" { // which sets a level, that a transaction refuses
			delete(changes, "START TRANSACTION")
		}
		do(t, y.admin(t), "CREATE SCHEMA "+other, "CREATE TABLE "+other+"."+table+" AS SELECT * FROM "+table)
		y.shared = y.pool(t)
		for change, want := range changes {
			y.shared.SetMaxIdleConns(0)
			y.shared.SetMaxIdleConns(1)
			source, before := y.process(t), y.count(t)
			connection, err := y.shared.Conn(t.Context()) // the session that the pool gives next
			if err == nil {
				_, err = connection.ExecContext(t.Context(), change)
			}
			if err := errors.Join(err, connection.Close()); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
			_, err = source.Reserve(t.Context(), few(1))
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || snowfence.ClassOf(err) != snowfence.ClassUnavailable) {
				t.Errorf("%s: %v, want %q", change, err, want)
			}
			if n := y.count(t); (n != before) != (want == "") {
				t.Errorf("%s: the row went from %d to %d", change, before, n)
			}
			if _, err := source.Reserve(t.Context(), few(1)); want != "" && err != nil {
				t.Errorf("%s: that session is still in the pool: %v", change, err)
			}
		}
	})
}

// TestRemedyOfASystemEndsItsError lowers a counter, and follows the error's remedy alone. Then the
// next number is above the mark. A guard shows the remedy too.
func TestRemedyOfASystemEndsItsError(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		source := y.process(t)
		var last int64
		for range 3 {
			got, err := source.Reserve(t.Context(), few(1))
			if err != nil {
				t.Fatal(err)
			}
			last = got.Last()
		}
		y.lower(t)
		var back *counter.BackwardsError
		_, err := source.Reserve(t.Context(), few(1))
		if !errors.As(err, &back) || back.Mark != last || back.Next > last || !strings.HasSuffix(back.Error(), ": "+y.remedy(last)) {
			t.Fatalf("the error is %v, want the remedy %q", err, y.remedy(last))
		}
		if y.set != "" && y.count(t) != 0 {
			t.Errorf("a refused reservation moves the row to %d", y.count(t))
		}
		if y.raise(t, last); y.again {
			source = y.process(t)
		}
		got, err := source.Reserve(t.Context(), few(1))
		if err != nil || got.First <= last {
			t.Errorf("afterwards: %+v, %v; want a number above %d", got, err, last)
		}
		guard, _ := inAFolder(t)
		mark := got.Last() + 50
		if err := guard.Raise(t.Context(), got.First, mark); err != nil {
			t.Fatal(err)
		}
		_, err = counter.Guarded(source, guard, "orders").Reserve(t.Context(), few(1))
		if !errors.As(err, &back) || back.Mark != mark || !strings.HasSuffix(err.Error(), ": "+y.remedy(mark)) {
			t.Errorf("with a guard: %v, want the remedy %q", err, y.remedy(mark))
		}
	}, slices.Collect(maps.Keys(systems))...)
}
