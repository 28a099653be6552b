package counters

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// fill begins the counter with writes of processes that ended before they could confirm. So few places
// are left, for a while zero. A place is free when its write is overdue.
func (w *world) fill(rng *rand.Rand) {
	c := stored.Counter{
		Kind: stored.Segment, Incarnation: strings.Repeat("0", 32), Unsettled: true, Start: 1, Increment: w.apart, Limit: 1,
		Lanes: []stored.Lane{{Next: 1}}, Write: strings.Repeat("0", 16), Created: w.begun, Clock: w.begun,
	}
	if w.kind == daily {
		c.Kind, c.Increment, c.Zone, c.Digits, c.Lanes = stored.Daily, 1, w.zone.String(), 9, nil
	}
	for i := range 85 + rng.IntN(16) {
		ago := rng.Int64N(int64(10 * time.Second))
		c.Waiting = append(c.Waiting, stored.Wait{Effect: fmt.Sprintf("%012d", i), Sent: uint32(w.begun.Add(time.Duration(-ago)).Unix())})
	}
	value, err := c.Encode()
	if err == nil {
		_, err = w.memory.Client().Swap(context.Background(), stored.CounterPrefix("default")+name, "", value)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// crowded counts the calls and openings that had to wait until others had confirmed.
func (w *world) crowded(err error) {
	if err != nil && strings.Contains(err.Error(), "waits for its turn") {
		w.count(func(t *tally) { t.Crowded++ })
	}
}
