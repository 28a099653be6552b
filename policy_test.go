package snowfence

import (
	"testing"
	"time"
)

// sequencesAtRest returns the ids that a generator issues one at a time every
// ten milliseconds for ten minutes.
func idsAtRest(t *testing.T, start SequenceStart) []ID {
	var ids []ID
	generate(t, GeneratorConfig{Policy: Policy{Start: start}}, func(t *testing.T, clock *testClock, g *Generator) {
		for range 60_000 {
			id, err := g.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			clock.pass(10 * time.Millisecond)
		}
	})
	return ids
}

// critical is the value that chi-square exceeds with probability 0.001, by
// degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods,
// 1.3.6.7.4).
var critical = map[int]float64{1: 10.828, 7: 24.322, 63: 103.442}

func chiSquare(ids []ID, modulus int) float64 {
	counts := make([]float64, modulus)
	for _, id := range ids {
		counts[int(id)%modulus]++
	}
	expected := float64(len(ids)) / float64(modulus)
	sum := 0.0
	for _, n := range counts {
		sum += (n - expected) * (n - expected) / expected
	}
	return sum
}

func TestIDsAtRestFallEvenlyOnShards(t *testing.T) {
	even, zero := idsAtRest(t, SequenceStart{}), idsAtRest(t, SequenceStart{Rule: StartZero})
	for _, modulus := range []int{2, 8, 64} {
		limit := critical[modulus-1]
		if got := chiSquare(even, modulus); got > limit {
			t.Errorf("mod %d: chi-square %.1f, want at most %.1f", modulus, got, limit)
		}
		if got := chiSquare(zero, modulus); got <= limit {
			t.Errorf("mod %d from zero: chi-square %.1f: the skew of a zero start is not seen", modulus, got)
		}
	}
}

func TestIdleTickStartsInTheLowestQuarterAndAnOverflowAtZero(t *testing.T) {
	generate(t, GeneratorConfig{}, func(t *testing.T, clock *testClock, g *Generator) {
		seen := map[int64]bool{}
		for range 200 {
			p := mustNext(t, g)
			if p.Sequence >= 1024 {
				t.Fatalf("an idle tick starts at %d", p.Sequence)
			}
			seen[p.Sequence] = true
			clock.pass(time.Millisecond)
		}
		if len(seen) < 150 {
			t.Errorf("only %d different starts in 200 ticks", len(seen))
		}
		ids := mustFill(t, g, 3*4096)
		count := map[Tick]int{}
		for _, id := range ids {
			count[parts(t, g, id).Tick]++
		}
		first := parts(t, g, ids[0]).Tick
		if count[first+1] != 4096 || count[first+2] != 4096 {
			t.Errorf("ticks after an overflow hold %d and %d ids, want all 4096", count[first+1], count[first+2])
		}
	})
}

func TestEachStartRuleBeginsWhereItSays(t *testing.T) {
	cases := []struct {
		name  string
		start SequenceStart
		// where ticks begin: three that start idle, with two ids each, then
		// two that an overflow begins; -1 for anything within the bound
		want [5]int64
	}{
		{"zero", SequenceStart{Rule: StartZero}, [5]int64{0, 0, 0, 0, 0}},
		{"vibration over two", SequenceStart{Rule: StartVibration, Max: 1}, [5]int64{0, 1, 0, 0, 0}},
		{"vibration over four", SequenceStart{Rule: StartVibration, Max: 3}, [5]int64{0, 1, 2, 0, 0}},
		{"carry", SequenceStart{Rule: StartCarry, Max: 2047}, [5]int64{0, 2, 4, 0, 0}},
		{"carry past its bound", SequenceStart{Rule: StartCarry, Max: 3}, [5]int64{0, 2, 0, 0, 0}},
		{"random", SequenceStart{Rule: StartRandom, Max: 99}, [5]int64{-1, -1, -1, -1, -1}},
		{"random without room", SequenceStart{Rule: StartRandom}, [5]int64{0, 0, 0, 0, 0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			generate(t, GeneratorConfig{Policy: Policy{Start: c.start}}, func(t *testing.T, clock *testClock, g *Generator) {
				check := func(i int, got int64) {
					t.Helper()
					if c.want[i] == -1 && got <= c.start.Max || got == c.want[i] {
						return
					}
					t.Errorf("tick %d begins at %d, want %d", i, got, c.want[i])
				}
				for i := range 3 {
					check(i, mustNext(t, g).Sequence)
					mustNext(t, g)
					clock.pass(time.Millisecond)
				}
				ids := mustFill(t, g, 2*4096+1)
				i, last := 2, parts(t, g, ids[0]).Tick
				for _, id := range ids {
					if p := parts(t, g, id); p.Tick != last && i < 4 {
						i, last = i+1, p.Tick
						check(i, p.Sequence)
					}
				}
				if i != 4 {
					t.Errorf("no overflow was seen")
				}
			})
		})
	}
}

func TestRandomStartIsSpreadOverItsBound(t *testing.T) {
	generate(t, GeneratorConfig{Policy: Policy{Start: SequenceStart{Rule: StartRandom, Max: 99}}}, func(t *testing.T, clock *testClock, g *Generator) {
		seen := map[int64]int{}
		for range 5000 {
			seen[mustNext(t, g).Sequence]++
			clock.pass(time.Millisecond)
		}
		for sequence := range int64(100) {
			if seen[sequence] == 0 {
				t.Errorf("never starts at %d", sequence)
			}
		}
		if len(seen) != 100 {
			t.Errorf("%d different starts, want 100", len(seen))
		}
	})
}

func TestVibrationGoesByOnesHoweverManyTry(t *testing.T) {
	generate(t, GeneratorConfig{Policy: Policy{Start: SequenceStart{Rule: StartVibration, Max: 3}}}, func(t *testing.T, clock *testClock, g *Generator) {
		last := int64(-1)
		for range 500 {
			ids := make(chan ID, 4)
			for range 4 {
				go func() {
					id, err := g.Next(t.Context())
					if err != nil {
						t.Error(err)
					}
					ids <- id
				}()
			}
			first := min(<-ids, <-ids, <-ids, <-ids)
			if got := parts(t, g, first).Sequence; got != (last+1)%4 {
				t.Fatalf("a tick begins at %d after one at %d", got, last)
			} else {
				last = got
			}
			clock.pass(time.Millisecond)
		}
	})
}
