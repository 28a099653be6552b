package sim

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// TestLimitExcusesOnlyWhomItStruck: after a rollback of the store those that claimed
// before may be repeated, and may repeat others, but those that claimed afterwards
// must not repeat each other, nor lower until below what they stamped.
func TestLimitExcusesOnlyWhomItStruck(t *testing.T) {
	for _, test := range []struct {
		one, other string
		excused    bool
	}{
		{"before", "after", true},
		{"after", "before", true},
		{"after", "later", false},
	} {
		p := Plain()
		w := newWorld(&p, Config{})
		s := w.servers[0]
		s.bounds["before"], s.reached[0] = 100, 100
		s.rollback(s.memory.Snapshot(), time.Second)
		s.bounds["after"], s.bounds["later"] = 100, 100
		for node, nonce := range []string{test.one, test.other} {
			by := w.issuerOf(w.nodes[node].site(), nonce)
			by.generator, by.nonce = new(snowfence.Generator), nonce
			w.issuedRange(by, 0, 8, 9)
		}
		if found := w.report().Findings; test.excused != (len(found) == 0) {
			t.Errorf("%s and %s: %v", test.one, test.other, found)
		}
	}
}

// TestCallThatMeansToWaitTooLongIsFound: a tick more than max-wait is too long, also
// when the call then succeeds.
func TestCallThatMeansToWaitTooLongIsFound(t *testing.T) {
	p := Plain()
	p.Batch = 60
	tooLong := func(p *snowfence.Policy) { p.MaxWait += time.Millisecond }
	if found := Run(p, Config{bugs: bugs{policy: tooLong}}).Findings; len(found) == 0 || found[0].Rule != "waiting" {
		t.Errorf("found %v", found)
	}
	if found := Run(p, Config{}).Findings; len(found) > 0 {
		t.Errorf("of a call that ends in time: %v", found)
	}
}

// TestWeatherOfRequestsThatAreLostAnywayDoesNotCount: a machine that reaches no store
// has no weather.
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
