package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// slowLender counts one more worker id each time, and takes a minute for it.
type slowLender struct {
	kind.Lender
	counts int64
}

func (l *slowLender) Census(context.Context) (kind.Census, error) {
	pass(time.Minute)
	l.counts++
	return kind.Census{Pool: 10, Lent: l.counts, ByToken: map[string]int64{}}, nil
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
}

func TestOneClientCountsTheLentWorkerIDsAndOthersGoOnWithTheLastCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, known, clock, began := new(slowLender), new(lent), snowfence.SystemClock(), time.Now()
		count := func() (all int64, after time.Duration) {
			if err := known.count(t.Context(), l, clock); err != nil {
				t.Error(err)
			}
			_, all, _ = known.figures("")
			return all, time.Since(began)
		}
		pass(time.Second) // the monotonic clock must not show 0
		if all, after := count(); all != 1 || after == 0 {
			t.Errorf("%d lent after %s, want a count", all, after)
		}
		pass(censusAge)
		began = time.Now()
		go count()
		synctest.Wait()
		if all, after := count(); all != 1 || after != 0 {
			t.Errorf("%d lent after %s, want the last count at once", all, after)
		}
		pass(2 * time.Minute)
		synctest.Wait()
		if _, all, _ := known.figures(""); all != 2 {
			t.Errorf("%d lent, want the new count", all)
		}
	})
}
