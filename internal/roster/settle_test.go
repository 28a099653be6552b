package roster_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// off is a system clock whose wall is off.
type off struct {
	snowfence.Clock
	by time.Duration
}

func (o off) Wall() time.Time { return o.Clock.Wall().Add(o.by) }

// TestYoungNamespaceIsSettledWhateverThisHostsClockShows has a record that another
// host has just written, and that a failover takes away before this one settles.
func TestYoungNamespaceIsSettledWhateverThisHostsClockShows(t *testing.T) {
	const loss = 2 * time.Second
	for _, by := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.NewWith(memstore.Config{Loss: loss, Now: time.Now})
			create := func() {
				if _, err := roster.Create(t.Context(), roster.Config{Store: memory.Client()}, testLayout(), nil); err != nil {
					t.Fatal(err)
				}
			}
			create()
			r, err := roster.Open(t.Context(), roster.Config{Store: memory.Client(), Clock: off{snowfence.SystemClock(), by}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := memory.Failover(loss); err != nil {
				t.Fatal(err)
			}
			create()
			if err := r.Settle(t.Context(), roster.Patience{}); !errors.Is(err, stored.ErrNamespaceReplaced) {
				t.Errorf("on a host that is off by %s: %v", by, err)
			}
		})
	}
}

func TestWriteIsLosableForAsLongAsItsWritersClockMayBeOff(t *testing.T) {
	const loss = 2 * time.Second
	for age, losable := range map[time.Duration]bool{
		0:                         true,
		loss + time.Second:        true,
		loss + 10*time.Minute - 1: true,
		loss + 10*time.Minute:     false,
		-time.Hour:                true, // it is ahead of this clock
	} {
		synctest.Test(t, func(t *testing.T) {
			w := lossyWorld(t, loss, time.Now)
			r := w.roster()
			w.put(r, 5, w.register(r, func(x *stored.Register) { x.Clock = r.Now().Add(-age) }))
			if got := r.Losable(w.read(r, 5)); got != losable {
				t.Errorf("written %s ago: %v", age, got)
			}
		})
	}
}
