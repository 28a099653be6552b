package service

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

func someone(last byte) any { return front.Neighbours(netip.AddrFrom4([4]byte{192, 0, 2, last})) }

func TestClientsHaveTurnsWhateverTheNumberOfTheirRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		if err := turns.enter(t.Context(), someone(0)); err != nil {
			t.Fatal(err)
		}
		var order []byte
		come := func(last byte) {
			go func() {
				if err := turns.enter(t.Context(), someone(last)); err != nil {
					t.Error(err)
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

func TestClientKeepsItsTurnUntilAnotherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		wait := func(last byte) {
			go func() {
				if err := turns.enter(t.Context(), someone(last)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		wait(1) // it has the turn
		if !turns.keep(someone(1)) {
			t.Error("the first client loses its turn while it is alone")
		}
		wait(1)
		if !turns.keep(someone(1)) {
			t.Error("the first client loses its turn to its own second request")
		}
		wait(2)
		if turns.keep(someone(1)) {
			t.Error("the first client keeps its turn while another client waits")
		}
		if turns.keep(someone(1)) { // that of its second request
			t.Error("the first client keeps its turn while another client waits")
		}
		if !turns.keep(someone(2)) || len(turns.waiting) > 0 {
			t.Errorf("%+v wait", turns.waiting)
		}
	})
}

func TestTurnOfAClientThatHasGoneIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		_ = turns.enter(t.Context(), someone(0)) // at once: the turn is free
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- turns.enter(ctx, someone(1)) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("waits no longer: %v", err)
		}
		turns.leave()
		if err := turns.enter(t.Context(), someone(2)); err != nil {
			t.Error(err)
		}
	})
}

// leasing is a fenced minter that makes a slice in a millisecond. Its terms end after so many slices, and a later one has lower
// numbers.
type leasing struct {
	slices []int
	terms  int // slices of each; 0 for one term
}

func (*leasing) Form() kind.Form { return kind.Number }
func (*leasing) Caps() kind.Caps {
	l := snowfence.DefaultLayout()
	return kind.Caps{Lease: func() kind.Lease { return kind.Lease{Layout: l, Policy: snowfence.Policy{}.WithDefaults(l)} }}
}
func (m *leasing) Mint(ctx context.Context, n int, into *kind.Batch) error {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.slices = append(m.slices, n)
	base := 1_000_000
	if m.terms > 0 {
		base -= len(m.slices) / m.terms * 10_000
	}
	room, err := into.GrowNumbers(n)
	for i := range room {
		room[i] = snowfence.ID(base + len(m.slices)*leastSlice + i)
	}
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
		mint := func(n int) error {
			b.Reset()
			m.slices = nil
			return askFor(anybody(s), "default", n, &b)
		}
		if err := mint(2*leastSlice + 1); err != nil || !slices.Equal(m.slices, []int{leastSlice, leastSlice, 1}) {
			t.Errorf("slices of %d ids, %v", m.slices, err)
		}
		if err := mint(leastSlice); err != nil || len(m.slices) != 1 {
			t.Errorf("slices of %d ids, %v", m.slices, err)
		}
		// A term ends within the second request.
		m.terms = 4
		if err := mint(6 * leastSlice); !errors.As(err, new(*front.Problem)) || b.Len() != 0 {
			t.Errorf("%d ids of more terms than one, %v", b.Len(), err)
		}
		if err := mint(3 * leastSlice); err != nil || !slices.IsSorted(b.Numbers()) {
			t.Errorf("numbers that do not increase, %v", err)
		}
		m.terms = 0
		// Somebody has the turn for longer than a request may wait.
		of := s.generators["default"].minter.Load()
		_ = of.turns.enter(t.Context(), someone(9)) // at once: the turn is free
		err := mint(2 * leastSlice)
		if p := new(front.Problem); !errors.As(err, &p) || p.Type != front.Saturated || b.Len() != 0 {
			t.Errorf("%d ids, %v", b.Len(), err)
		}
	})
}
