package service

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/kind"
)

func someone(last byte) Who {
	return Who{address: Neighbours(netip.AddrFrom4([4]byte{192, 0, 2, last}))}
}

func TestClientsHaveTurnsWhateverTheNumberOfTheirRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		never := make(chan time.Time)
		if !turns.enter(t.Context(), Who{}, never) {
			t.Fatal("a turn that nobody has is not given")
		}
		var order []byte
		come := func(last byte) {
			go func() {
				if !turns.enter(t.Context(), someone(last), never) {
					t.Error("a turn was not given")
				}
				order = append(order, last)
				turns.leave()
			}()
			synctest.Wait() // it waits for its turn
		}
		for _, last := range []byte{1, 1, 1, 1, 2, 2, 3} {
			come(last)
		}
		turns.leave()
		synctest.Wait()
		if want := []byte{1, 2, 3, 1, 2, 1, 1}; !slices.Equal(order, want) {
			t.Errorf("the turns were %d, want %d", order, want)
		}
		if turns.taken || len(turns.waiting) > 0 || len(turns.clients) > 0 {
			t.Errorf("%+v is left", turns.waiting)
		}
	})
}

func TestTurnIsWaitedForNoLongerThanARequestMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		turns.enter(t.Context(), Who{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan bool, 2)
		go func() { given <- turns.enter(t.Context(), someone(1), time.After(time.Second)) }()
		go func() { given <- turns.enter(ctx, someone(1), nil) }()
		synctest.Wait()
		cancel()
		first, second := <-given, <-given
		if first || second {
			t.Error("a turn was given that somebody has")
		}
		turns.leave()
		if !turns.enter(t.Context(), someone(2), nil) {
			t.Error("the turn of a client that has gone is lost")
		}
	})
}

// leasing is a fenced minter that makes a slice in a millisecond.
type leasing struct{ slices []int }

func (*leasing) Form() kind.Form      { return kind.Number }
func (*leasing) Status() fence.Status { return fence.Status{Layout: snowfence.DefaultLayout()} }
func (m *leasing) Mint(_ context.Context, n int, into *kind.Batch) error {
	<-time.After(time.Millisecond) // of the bubble
	m.slices = append(m.slices, n)
	_, err := into.GrowNumbers(n)
	return err
}

func TestLargeRequestIsMintedInSlicesWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Settings: settings(t)})
		m := new(leasing)
		if err := s.Serve("default", m); err != nil {
			t.Fatal(err)
		}
		var b kind.Batch
		if err := s.Mint(t.Context(), "default", 2*slice+1, &b); err != nil || !slices.Equal(m.slices, []int{slice, slice, 1}) {
			t.Errorf("slices of %d ids, %v", m.slices, err)
		}
		b.Reset()
		m.slices = nil
		if err := s.Mint(t.Context(), "default", slice, &b); err != nil || len(m.slices) != 1 {
			t.Errorf("slices of %d ids, %v", m.slices, err)
		}
		// Somebody has the turn for longer than a request may wait.
		of := s.generators["default"].minter.Load()
		of.turns.enter(t.Context(), someone(9), nil)
		b.Reset()
		err := s.Mint(t.Context(), "default", 2*slice, &b)
		if p, ok := err.(*Problem); !ok || p.Type != Saturated || b.Len() != 0 { //nolint:errorlint // it is never wrapped
			t.Errorf("%d ids, %v", b.Len(), err)
		}
	})
}
