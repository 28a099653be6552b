package sim

import (
	"testing"
	"time"
)

// TestWeatherOfRequestsThatAreLostAnywayDoesNotCount: weather does not strike a machine that is cut off
// from its store.
func TestWeatherOfRequestsThatAreLostAnywayDoesNotCount(t *testing.T) {
	p := Plain()
	p.Weather = Weather{Lost: 25, Silent: 25, Late: 25, Slow: 25}
	p.Faults = []Fault{{Node: Everywhere, Kind: Cut, For: time.Hour}}
	p.Rough = true
	r := Run(p, Config{})
	for _, k := range []Kind{Lost, Silent, Late, Slow} {
		if n := r.Tally.Faults[k]; n > 0 || r.Tally.Counts[Requests] == 0 {
			t.Errorf("%s struck %d of %d requests", k, n, r.Tally.Counts[Requests])
		}
	}
}
