package counter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

// setting is a lossy store whose counter went back to a dump, and the numbers that it has given.
type setting struct {
	*testing.T
	memory *memstore.Memory
	given  map[int64]bool
}

const setLoss = 15 * time.Second

// goneBack gives 50 numbers, takes a dump, gives 500 more, and restores the dump.
func goneBack(t *testing.T) *setting {
	s := &setting{t, memstore.NewWith(memstore.Config{Loss: setLoss}), map[int64]bool{}}
	process := s.open()
	s.draw(process, 50)
	dump := s.memory.Snapshot()
	s.draw(process, 500)
	s.close(process)
	s.memory.Restore(dump)
	return s
}

func (s *setting) open() *counter.Segments {
	s.Helper()
	config := counter.Config{Store: s.memory.Client(), Name: "users", MaxWait: 5 * time.Minute}
	return openLimited(s.T, counter.SegmentsConfig{Config: config, Step: 100, MostStep: 100})
}

func (s *setting) close(process *counter.Segments) {
	s.Helper()
	if err := process.Close(context.Background()); err != nil {
		s.Error(err)
	}
}

func (s *setting) draw(process *counter.Segments, n int) {
	s.Helper()
	for _, id := range fill(s.T, process, n) {
		if s.given[int64(id)] {
			s.Fatalf("%d was given before", id)
		}
		s.given[int64(id)] = true
	}
}

func (s *setting) failover(lag time.Duration) {
	s.Helper()
	if _, err := s.memory.Failover(lag); err != nil {
		s.Error(err)
	}
}

// set raises the counter to 10,000, unless it is there.
func (s *setting) set(ctx context.Context, patience counter.Patience) error {
	s.Helper()
	info := show(s.T, s.memory.Client(), "users")
	raised, err := info.Raised("", max(10_000, info.Lanes[0].Next))
	if err != nil {
		s.Fatal(err)
	}
	_, err = counter.Set(ctx, s.memory.Client(), raised, counter.Operator{Patience: patience})
	return err
}

// TestCounterThatIsSaidToBeSetGivesNoNumberTwice has failovers within the declared loss. Where Set
// is uncertain, the operator does as the error advises, and sets the counter again.
func TestCounterThatIsSaidToBeSetGivesNoNumberTwice(t *testing.T) {
	interrupted := errors.New("interrupted")
	for name, x := range map[string]struct {
		meanwhile func(s *setting, interrupt func()) // while Set waits
		uncertain bool
		reason    error // of the uncertainty, if it is known
		took      time.Duration
	}{
		"nothing happens": {took: setLoss},
		"a failover loses it": {
			meanwhile: func(s *setting, _ func()) { at(time.Now(), 2000); s.failover(5 * time.Second) },
			uncertain: true, took: setLoss,
		},
		"a failover does not lose it": {meanwhile: func(s *setting, _ func()) { at(time.Now(), 6000); s.failover(5 * time.Second) }, took: setLoss},
		"processes write after it": {meanwhile: func(s *setting, _ func()) {
			for range 3 {
				process := s.open()
				s.draw(process, 10)
				s.close(process)
			}
		}, took: setLoss},
		"the operator is interrupted": {
			meanwhile: func(_ *setting, interrupt func()) { at(time.Now(), 3000); interrupt() },
			uncertain: true, reason: interrupted, took: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := goneBack(t)
				ctx, interrupt := context.WithCancelCause(t.Context())
				done := make(chan struct{})
				begun, waited := time.Now(), time.Time{}
				err := s.set(ctx, counter.Patience{Waiting: func(until time.Time) {
					waited = until
					go func() {
						defer close(done)
						if x.meanwhile != nil {
							x.meanwhile(s, func() { interrupt(interrupted) })
						}
					}()
				}})
				var uncertain *counter.UncertainError
				if errors.As(err, &uncertain) != x.uncertain || err != nil && !x.uncertain || !errors.Is(err, x.reason) && x.reason != nil {
					t.Fatalf("it returned %v", err)
				}
				if took := time.Since(begun).Truncate(time.Second); took != x.took || !waited.Equal(begun.Add(setLoss)) {
					t.Errorf("it took %s and reported that it waits until %s", took, waited)
				}
				<-done
				switch {
				case !x.uncertain:
					s.failover(setLoss) // it takes nothing that was confirmed
				case !uncertain.Until.Equal(begun.Add(setLoss)):
					t.Errorf("it is uncertain until %s", uncertain.Until)
				default:
					at(uncertain.Until, 0)
					if err := s.set(t.Context(), counter.Patience{}); err != nil {
						t.Fatal(err)
					}
				}
				process := s.open()
				s.draw(process, 100)
				s.close(process)
				interrupt(nil)
			})
		})
	}
}
