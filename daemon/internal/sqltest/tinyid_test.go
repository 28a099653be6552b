//go:build servers

package sqltest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/tinyid"
)

func TestTinyidRangeHasTheNumbersOfTheRemainder(t *testing.T) {
	y := systems["tinyid"](t)
	begin := func(last, step, delta, remainder int64) {
		y.row(t, fmt.Sprintf("max_id = %d, step = %d, delta = %d, remainder = %d", last, step, delta, remainder))
	}
	for _, c := range []struct {
		last, step, delta, remainder, need int64
		want                               counter.Range
		end                                int64
	}{
		{last: 0, step: 100, delta: 1, need: 1, want: counter.Range{First: 1, Increment: 1, Count: 100}, end: 100},
		{last: 1, step: 100, delta: 2, remainder: 1, need: 1, want: counter.Range{First: 3, Increment: 2, Count: 50}, end: 101},
		{last: 1, step: 100, delta: 2, remainder: 0, need: 60, want: counter.Range{First: 2, Increment: 2, Count: 50}, end: 101},
		{last: 1, step: 100, delta: 2, remainder: 0, need: 100, want: counter.Range{First: 2, Increment: 2, Count: 100}, end: 201},
		{last: 5, step: 10, delta: 4, remainder: 1, need: 1, want: counter.Range{First: 9, Increment: 4, Count: 2}, end: 15},
		// A step that may be without a number is taken several times.
		{last: 0, step: 2, delta: 5, remainder: 0, need: 1, want: counter.Range{First: 5, Increment: 5, Count: 1}, end: 6},
		{last: 6, step: 1, delta: 7, remainder: 6, need: 1, want: counter.Range{First: 13, Increment: 7, Count: 1}, end: 13},
		{last: math.MaxInt64 - 15, step: 10, delta: 1, need: 1000, want: counter.Range{First: math.MaxInt64 - 14, Increment: 1, Count: 10}, end: math.MaxInt64 - 5},
	} {
		begin(c.last, c.step, c.delta, c.remainder)
		got, err := y.process(t).Reserve(t.Context(), few(c.need))
		if err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		if end := y.count(t); end != c.end {
			t.Errorf("%+v: max_id is %d", c, end)
		}
	}
	// From the end of one range the next one goes on, as tinyid's own does.
	begin(15, 10, 4, 1)
	source := y.process(t)
	theirs, err := y.original(y.pool(t), 0)(t.Context()) // 16 to 25
	if want := (counter.Range{First: 17, Increment: 4, Count: 3}); err != nil || theirs != want {
		t.Errorf("the original has %+v, %v", theirs, err)
	}
	if ours, err := source.Reserve(t.Context(), few(1)); err != nil || ours != (counter.Range{First: 29, Increment: 4, Count: 2}) {
		t.Errorf("then %+v, %v", ours, err)
	}
}

// TestTinyidSwapThatOthersPreventIsTriedBoundedly lets the original come first between the read
// and the swap, each time or twice.
func TestTinyidSwapThatOthersPreventIsTriedBoundedly(t *testing.T) {
	y := systems["tinyid"](t)
	theirs := y.original(y.pool(t), 0)
	for _, times := range []int{2, 100} {
		y.row(t, "max_id = 0")
		tried := 0
		got, err := y.process(t).Reserve(t.Context(), func() int64 {
			if tried++; tried <= times {
				if _, err := theirs(t.Context()); err != nil {
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
