package lease

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

func TestNewNamespaceIsCreatedAndReadBack(t *testing.T) {
	s := newScript(t, func(c *Config) { c.Datacenters = []int64{1, 0} })
	s.do(Started{})
	if get := s.called(Get); get.Key != stored.NamespaceKey("default") {
		t.Errorf("the key is %q", get.Key)
	}
	s.absent()
	swap := s.called(Swap)
	n, err := stored.DecodeNamespace(swap.Value)
	if err != nil {
		t.Fatal(err)
	}
	if swap.Prev != "" || n.Layout != testLayout().String() || !slices.Equal(n.Datacenters, []int64{0, 1}) {
		t.Errorf("it is created under %q as %+v", swap.Prev, n)
	}
	s.swapped("n1")
	s.called(Get)
	if r := request[Report](s); r.What != Made {
		t.Errorf("it reports %+v", r)
	}
	s.in(Opening)
	s.found("n1", n)
	s.in(Probing)
}

func TestNamespaceThatMustExistIsNeverMade(t *testing.T) {
	s := newScript(t, func(c *Config) { c.Existing = true })
	s.do(Started{})
	s.absent()
	s.in(Failed)
	s.uncalled(Swap)
	if err := request[Report](s).Err; !errors.Is(err, stored.ErrMustExist) || !strings.Contains(err.Error(), "the record of namespace default is gone") {
		t.Error(err)
	}
	s = newScript(t, func(c *Config) { c.Existing = true })
	s.do(Started{})
	s.found("n1", testNamespace())
	s.in(Probing)
}

func TestRacingCreatorTakesTheRecordThatIsThere(t *testing.T) {
	for _, outcome := range []Reply{{Outcome: Conflict}, {Err: errNoAnswer}} {
		s := newScript(t)
		s.do(Started{})
		s.absent()
		s.reply(outcome)
		s.wake()
		s.found("n1", testNamespace())
		s.in(Probing)
		if s.state.search.record.Incarnation != testIncarnation {
			t.Errorf("the incarnation is %s", s.state.search.record.Incarnation)
		}
	}
}

func TestAnotherLayoutIsRefusedWithBothShown(t *testing.T) {
	tests := []struct {
		name   string
		change func(*snowfence.Layout)
	}{
		{"another unit", func(l *snowfence.Layout) { l.Unit *= 10 }},
		{"another epoch", func(l *snowfence.Layout) { l.Epoch = l.Epoch.Add(time.Second) }},
		{"a bit from time to sequence", func(l *snowfence.Layout) { l.Fields[0].Bits--; l.Fields[3].Bits++ }},
		{"a bit from sequence to worker", func(l *snowfence.Layout) { l.Fields[2].Bits++; l.Fields[3].Bits-- }},
		{"without the datacenter", func(l *snowfence.Layout) { l.Fields = slices.Delete(l.Fields, 1, 2) }},
		{"sequence before worker", func(l *snowfence.Layout) { l.Fields[2], l.Fields[3] = l.Fields[3], l.Fields[2] }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := testLayout()
			test.change(&other)
			if err := other.Validate(); err != nil {
				t.Fatal(err)
			}
			s := newScript(t)
			s.do(Started{})
			n := testNamespace()
			n.Layout = other.String()
			s.found("n1", n)
			s.in(Failed)
			s.uncalled(Swap)
			if mismatch := reason[*stored.LayoutMismatchError](s); mismatch.Stored != n.Layout || mismatch.Configured != testLayout().String() {
				t.Errorf("the error is %v", mismatch)
			}
			if at, ok := s.state.Wake(); ok {
				t.Errorf("it goes on at %s", at)
			}
		})
	}
}

func TestDatacentersOfAnotherStoreAreRefused(t *testing.T) {
	one := int64(1)
	for name, change := range map[string]func(*Config){
		"another list":     func(c *Config) { c.Datacenters = []int64{1} },
		"not in the list":  func(c *Config) { c.Datacenter = &one },
		"pinned elsewhere": pinned,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, change)
			s.do(Started{})
			n := testNamespace()
			n.Datacenters = []int64{0}
			s.found("n1", n)
			s.in(Failed)
		})
	}
}

func TestNamespaceIsNotFoundedOutsideTheLayoutsTime(t *testing.T) {
	for want, wall := range map[error]time.Time{
		snowfence.ErrBeforeEpoch: testLayout().Epoch.Add(-1),
		snowfence.ErrPastHorizon: testLayout().Horizon(),
	} {
		s := newScript(t)
		s.now.Wall = wall
		s.do(Started{})
		s.absent()
		s.uncalled(Swap)
		if told := request[Report](s); told.What != GaveUp || !errors.Is(told.Err, want) {
			t.Errorf("it reports %+v, want %v", told, want)
		}
		s.in(Resting)
		s.now.Wall = testWall() // right again
		s.wake()
		s.absent()
		s.called(Swap)
	}
}

// anotherNamespace is the record of a namespace that was made anew.
func anotherNamespace() stored.Namespace {
	n := testNamespace()
	n.Incarnation = "ff112233445566778899aabbccddeeff"
	return n
}
