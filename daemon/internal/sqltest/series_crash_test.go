//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

var seriesCrashes = flag.Int("series.crashes", 100, "crashes of callers that the test of series has at the least")

// TestSeriesHasNoHoleAfterAHundredCrashes lets eight callers write documents and crash, while
// their server is killed and stopped. Beside each document goes one that a plain sequence of the
// database numbers.
func TestSeriesHasNoHoleAfterAHundredCrashes(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		b := newSeriesBed(t, s.on(s.start(t)))
		identity := map[string]string{"postgres": "BIGINT GENERATED ALWAYS AS IDENTITY", "mysql": "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"}
		do(t, b.db, "CREATE TABLE document (number BIGINT NOT NULL)", "CREATE TABLE plain (number "+identity[s.scheme]+", ours BIGINT NOT NULL)")
		world := &seriesWorld{bed: b, numbers: b.of(t), ended: make(map[int64]string), crashes: make(map[string]int)}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		var calling sync.WaitGroup
		for i := range 8 {
			calling.Go(func() { world.call(ctx, t, rand.New(rand.NewPCG(12, uint64(i)))) })
		}
		for i, stop := range []func(){b.server.Kill, b.server.Stop, b.server.Kill} {
			for world.count.Load() < int64((i+1)**seriesCrashes/4) && ctx.Err() == nil {
				pause, done := context.WithTimeout(ctx, 10*time.Millisecond)
				<-pause.Done()
				done()
			}
			stop()
			b.server.Start()
		}
		calling.Wait()
		if ctx.Err() != nil {
			t.Errorf("only %d crashes in time", world.count.Load())
		}
		world.judge(t)
	})
}

// seriesWorld is the callers' knowledge of a series.
type seriesWorld struct {
	bed     seriesBed
	numbers *series.Series
	count   atomic.Int64 // crashes

	mu      sync.Mutex
	ended   map[int64]string // the acknowledged ends: confirmed, or void: why
	crashes map[string]int   // by kind
	late    int              // reservations that timed out before they were ended
}

func (w *seriesWorld) crashed(kind string) {
	w.count.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashes[kind]++
}

// crashedIf counts a crash if the reply was really lost: the COMMIT may not have been sent.
func (w *seriesWorld) crashedIf(lost <-chan struct{}, kind string) {
	select {
	case <-lost: // never, if it is nil
		w.crashed(kind)
	default:
	}
}

func (w *seriesWorld) acknowledged(t *testing.T, number int64, how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before := w.ended[number]; before != "" {
		t.Errorf("number %d was acknowledged twice: %s, then %s", number, before, how)
	}
	w.ended[number] = how
}

// call is one caller, who crashes in all the ways that there are.
func (w *seriesWorld) call(ctx context.Context, t *testing.T, draw *rand.Rand) {
	network := testkit.NewProxy(t, w.bed.server.Addr())
	db := w.bed.connect(t, login{address: network.Addr()})
	for w.count.Load() < int64(*seriesCrashes) && ctx.Err() == nil {
		if db.PingContext(ctx) != nil { // the server is away
			pause, done := context.WithTimeout(ctx, 10*time.Millisecond)
			<-pause.Done()
			done()
			continue
		}
		var lost <-chan struct{}
		switch draw.IntN(10) {
		case 0:
			w.write(ctx, t, db, func() bool { w.crashed("rolled back"); return false })
		case 1:
			w.write(ctx, t, db, func() bool { network.ResetAll(); w.crashed("cut off before its commit"); return true })
		case 2:
			w.write(ctx, t, db, func() bool { lost = network.LoseReplyTo(commits); return true })
			w.crashedIf(lost, "lost the reply to its commit")
		case 3:
			if _, err := w.numbers.Reserve(ctx, db, 50*time.Millisecond); err == nil {
				w.crashed("forgot its reservation")
			}
		case 4:
			lost = network.LoseReplyTo(commits)
			w.end(ctx, t, db, time.Minute, "")
			w.crashedIf(lost, "lost the reply to a verb's own commit")
		case 5:
			w.end(ctx, t, db, time.Minute, fmt.Sprint("reason ", draw.IntN(100)))
		case 6: // may well be late
			w.end(ctx, t, db, 2*time.Millisecond, "")
		default:
			w.write(ctx, t, db, func() bool { return true })
		}
		network.Heal()
	}
}

// write writes a document in a transaction, and beside it one that is numbered by the database.
// Before the commit something happens.
func (w *seriesWorld) write(ctx context.Context, t *testing.T, db *sql.DB, before func() bool) {
	tx, err := db.BeginTx(ctx, nil) // of the server's default level
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }()
	r, err := w.numbers.Reserve(ctx, tx, time.Minute)
	if err != nil {
		return
	}
	for _, statement := range []string{"INSERT INTO document (number) VALUES (%d)", "INSERT INTO plain (ours) VALUES (%d)"} {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(statement, r.Number)); err != nil {
			return
		}
	}
	if err := w.numbers.Confirm(ctx, tx, r.Number, r.Token); err != nil {
		if errors.Is(err, series.ErrEnded) {
			t.Errorf("in the transaction of the reservation: %v", err)
		}
		return
	}
	if before() && tx.Commit() == nil {
		w.acknowledged(t, r.Number, "confirmed")
	}
}

// end reserves a number and ends it, in transactions of their own.
func (w *seriesWorld) end(ctx context.Context, t *testing.T, db *sql.DB, timeout time.Duration, reason string) {
	r, err := w.numbers.Reserve(ctx, db, timeout)
	if err != nil {
		return
	}
	verb, how := func() error { return w.numbers.Confirm(ctx, db, r.Number, r.Token) }, "confirmed"
	if reason != "" {
		verb, how = func() error { return w.numbers.Void(ctx, db, r.Number, r.Token, reason) }, "void: "+reason
	}
	switch err := verb(); {
	case err == nil:
		w.acknowledged(t, r.Number, how)
	case errors.Is(err, series.ErrEnded):
		if timeout == time.Minute {
			t.Errorf("within a minute: %v", err)
		}
		w.mu.Lock()
		w.late++
		w.mu.Unlock()
	}
}

// judge compares the audit with the documents, and with the acknowledged ends.
func (w *seriesWorld) judge(t *testing.T) {
	testkit.Eventually(t, func(ctx context.Context) error { return w.bed.db.PingContext(ctx) })
	documents, plain := w.column(t, "document"), w.column(t, "plain")
	written := make(map[int64]int)
	for _, n := range documents {
		written[n]++
	}
	next, tally := int64(1), make(map[series.State]int)
	for e, err := range w.numbers.Audit(t.Context(), w.bed.db) {
		if err != nil {
			t.Fatal(err)
		}
		how := string(e.State)
		if e.Reason != "" {
			how += ": " + e.Reason
		}
		if e.Number != next || e.State == series.Missing || (e.State == series.Void) != (e.Reason != "") {
			t.Errorf("number %d is %s, want number %d", e.Number, how, next)
		}
		if known := w.ended[e.Number]; known != "" && known != how {
			t.Errorf("number %d is %s, and was acknowledged as %s", e.Number, how, known)
		}
		if n := written[e.Number]; n > 1 || n == 1 && e.State != series.Confirmed {
			t.Errorf("number %d is %s, and is on %d documents", e.Number, how, n)
		}
		delete(w.ended, e.Number)
		delete(written, e.Number)
		tally[e.State]++
		next++
	}
	if len(w.ended) > 0 || len(written) > 0 {
		t.Errorf("numbers that the audit does not show: acknowledged %v, written %v", w.ended, written)
	}
	holes := plain[len(plain)-1] - int64(len(plain))
	t.Logf("%d crashes of callers %v and 3 of the server: the series has %d numbers %v and %d holes; %d were late; a plain sequence has %d numbers and %d holes",
		w.count.Load(), w.crashes, next-1, tally, tally[series.Missing], w.late, len(plain), holes)
	if len(w.crashes) != 5 || tally[series.Confirmed] == 0 || tally[series.Void] == 0 || holes == 0 {
		t.Error("the crashes show nothing")
	}
}

// column reads the numbers of a table in order.
func (w *seriesWorld) column(t *testing.T, table string) (numbers []int64) {
	rows, err := w.bed.db.QueryContext(t.Context(), "SELECT number FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	if err := rows.Err(); err != nil || len(numbers) == 0 {
		t.Fatalf("%d numbers of %s: %v", len(numbers), table, err)
	}
	slices.Sort(numbers)
	return numbers
}
