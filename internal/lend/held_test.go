package lend_test

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lend"
)

// at is a time of the borrower's monotonic clock, in milliseconds.
func at(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// lent is an answer with a bound so many milliseconds after noon.
func lent(until int, loss time.Duration) lend.Answer {
	return lend.Answer{
		Lease:  lend.Lease{Worker: 37, Term: 1, Until: tick + snowfence.Tick(until), Version: "v"},
		Layout: snowfence.DefaultLayout(), Window: time.Minute, Loss: loss, Floor: tick, MaxBehind: 5 * time.Second,
	}
}

func TestBoundOfALossyStoreIsUsableWhenALaterExtensionConfirmsIt(t *testing.T) {
	for name, test := range map[string]struct {
		sent, came int // of the extension after the second answer, which came at 115050
		usable     snowfence.Tick
	}{
		"first sent a loss after it": {135020, 145060, tick + 75020},
		"at the very date":           {130050, 130070, tick + 75020},
		"too early":                  {130049, 145060, tick + 60000},
	} {
		t.Run(name, func(t *testing.T) {
			h := lend.Hold(lent(60000, 15*time.Second), at(100000), at(100020))
			if _, _, ok := h.Stamp(noon); ok || h.Usable() != 0 || h.Due() != at(115020) {
				t.Errorf("usable %d, due at %s", h.Usable(), h.Due())
			}
			for _, e := range []struct{ sent, came, until int }{{115020, 115050, 75020}, {test.sent, test.came, 105020}} {
				h.Ask(at(e.sent))
				h.Ask(at(e.came - 1)) // another try, whose time does not count
				if err := h.Extended(lent(e.until, 0), at(e.came)); err != nil {
					t.Fatal(err)
				}
			}
			if h.Usable() != test.usable {
				t.Errorf("usable %d, want %d", h.Usable(), test.usable)
			}
			if want := max(at(test.sent+20000), at(test.came+15000)); h.Due() != want {
				t.Errorf("due at %s, want %s", h.Due(), want)
			}
		})
	}
}

func TestSlotsOnlyRiseAndStayBelowTheBound(t *testing.T) {
	h := lend.Hold(lent(2, 0), 0, 0)
	for i, step := range []struct {
		wall     int // milliseconds after noon
		tick     snowfence.Tick
		sequence int64
		ok       bool
	}{{-5, tick, 0, true}, {0, tick, 1, true}, {1, tick + 1, 0, true}, {0, tick + 1, 1, true}, {2, 0, 0, false}, {1, tick + 1, 2, true}} {
		got, sequence, ok := h.Stamp(noon.Add(at(step.wall)))
		if got != step.tick || sequence != step.sequence || ok != step.ok {
			t.Errorf("%d: tick %d, sequence %d, %t, want %+v", i, got, sequence, ok, step)
		}
	}
	if next := h.Next(); next != tick+2 {
		t.Errorf("next is %d", next)
	}
	full := lend.Hold(lent(2, 0), 0, 0)
	for range 4096 {
		full.Stamp(noon)
	}
	if got, sequence, ok := full.Stamp(noon); got != tick+1 || sequence != 0 || !ok {
		t.Errorf("after the last sequence number: tick %d, sequence %d, %t", got, sequence, ok)
	}
	if next := lend.Hold(lent(2, 0), 0, 0).Next(); next != tick {
		t.Errorf("next is %d before the first id", next)
	}
}

func TestAnswerOfAnotherLeaseIsRefused(t *testing.T) {
	for _, change := range []func(*lend.Answer){
		func(a *lend.Answer) { a.Lease.Worker++ }, func(a *lend.Answer) { a.Lease.Term++ }, func(a *lend.Answer) { a.Floor++ },
	} {
		h, other := lend.Hold(lent(2, 0), 0, 0), lent(5, 0)
		change(&other)
		if err := h.Extended(other, 1); !errors.Is(err, lend.ErrGone) || h.Usable() != tick+2 {
			t.Errorf("%v, usable %d", err, h.Usable())
		}
	}
}
