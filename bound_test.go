package snowfence

import (
	"errors"
	"testing"
)

// A window that ends within the burst is what stops busy callers, and each of
// the two ways to an id has a look of its own at it. Layouts of few slots a
// tick never come near the lane, and those of many never use a burst up.
func TestNoCallGetsPastAWindowThatEndsWithinTheBurst(t *testing.T) {
	ways := map[string]func(t *testing.T, cfg GeneratorConfig) *Generator{
		"the slow way": func(t *testing.T, cfg GeneratorConfig) *Generator {
			cfg.Layout = smallLayout()
			return newTestGenerator(t, cfg)
		},
		"the lane": newTestGenerator,
	}
	for way, generator := range ways {
		for _, ticks := range []Tick{1, 2, 5} {
			bubble(t, testStart, func(t *testing.T, clock *testClock) {
				until := DefaultLayout().TickAt(testStart) + ticks
				g := generator(t, GeneratorConfig{Until: until, Clock: clock})
				var last Parts
				for {
					id, err := g.Next(t.Context())
					if err != nil {
						if !errors.Is(err, ErrWindowEnded) {
							t.Errorf("%s: %v", way, err)
						}
						break
					}
					if last = parts(t, g, id); last.Tick >= until {
						t.Fatalf("%s: tick %d at a bound of %d", way, last.Tick, until)
					}
				}
				if last.Tick != until-1 || last.Sequence != int64(g.mask) {
					t.Errorf("%s: the last id is %+v, not the window's last", way, last)
				}
				before := g.state.Load()
				for range 1000 {
					if _, err := g.Next(t.Context()); !errors.Is(err, ErrWindowEnded) {
						t.Fatalf("%s: %v", way, err)
					}
				}
				if used := g.state.Load() - before; used != 0 {
					t.Errorf("%s: 1,000 refused calls used %d slots up", way, used)
				}
				// Slots beyond the window that were given up became no ids.
				if reserved := g.Revoke(nil); reserved != until {
					t.Errorf("%s: reserved up to %d, want %d", way, reserved, until)
				}
			})
		}
	}
}
