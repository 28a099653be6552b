package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/sim"
)

// scripted answers calls as it is told, each after some time on its clock.
type scripted struct {
	sim.Allocator

	clock *handClock
	takes time.Duration
	err   error
}

func (s *scripted) Mint(context.Context, []snowfence.ID) (int, error) {
	s.clock.now += s.takes
	if s.err != nil {
		return 0, s.err
	}
	return 1, nil
}

// handClock is a clock that is set by hand.
type handClock struct {
	snowfence.Clock

	now time.Duration
}

func (c *handClock) Monotonic() time.Duration { return c.now }

// TestRefusalLastsFromTheFirstRefusedCallToTheNextThatIsAnswered counts on a clock
// set by hand.
func TestRefusalLastsFromTheFirstRefusedCallToTheNextThatIsAnswered(t *testing.T) {
	refused := errors.New("refused")
	type call struct {
		at    time.Duration
		err   error
		takes time.Duration // zero means 1
	}
	for _, test := range []struct {
		name  string
		calls []call
		want  time.Duration
	}{
		{"all succeed", []call{{1, nil, 0}, {100, nil, 0}}, 0},
		{"one is refused", []call{{10, nil, 0}, {20, refused, 0}, {50, nil, 0}}, 30 + 1},
		{"several are", []call{{20, refused, 0}, {30, refused, 0}, {50, nil, 0}}, 30 + 1},
		{"to the last", []call{{20, refused, 0}, {60, refused, 0}}, 40 + 1},
		{"the longer one counts", []call{{20, refused, 0}, {60, nil, 0}, {70, refused, 0}, {80, nil, 0}}, 40 + 1},
		{"a stopped machine gets no calls", []call{{20, nil, 0}, {900, nil, 0}}, 0},
		{"nor does one that is stopped refuse", []call{{20, refused, 900}, {930, nil, 0}}, 5 + 10 + 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := &handClock{}
			answers := &scripted{clock: clock}
			w := watch{calls: make(map[int]*calls)}
			a, err := w.over(func(sim.Site) (sim.Allocator, error) { return answers, nil })(sim.Site{Clock: clock, Plan: &sim.Plan{MaxWait: 5}})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range test.calls {
				clock.now, answers.err, answers.takes = c.at, c.err, max(c.takes, 1)
				if _, err := a.Mint(t.Context(), make([]snowfence.ID, 1)); !errors.Is(err, c.err) {
					t.Fatalf("at %d: %v", c.at, err)
				}
			}
			if w.longest != test.want {
				t.Errorf("%d, want %d", w.longest, test.want)
			}
		})
	}
}
