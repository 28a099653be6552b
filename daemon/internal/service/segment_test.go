package service

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// steps is a minter that gives segments of a step.
type steps struct {
	counting
	step int64
}

func (m *steps) Caps() kind.Caps { return kind.Caps{Segments: m} }

func (m *steps) Step() int64 { return m.step }

func (m *steps) Segment(context.Context) (kind.Range, error) {
	return kind.Range{First: m.next.Add(m.step) - m.step, Increment: 1, Count: m.step}, m.err
}

func segment(c front.Client, name string) (r kind.Range, err error) {
	err = ask(c, name, func(u front.Use) error {
		r, err = u.Segment(context.Background())
		return err
	})
	return r, err
}

func TestSegmentCostsAllItsNumbers(t *testing.T) {
	s := serving(t, new(counting), func(c *Config) {
		c.Settings, c.Clock = settings(t, "a", "b"), new(fixedClock)
		c.Settings.Limits = config.Limits{Batch: 10, AddressRate: 25}
	})
	if err := s.Serve("a", &steps{step: 10}); err != nil {
		t.Fatal(err)
	}
	c := known(t, s, "")
	for range 2 {
		if r, err := segment(c, "a"); err != nil || r.Count != 10 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	refused(t, "the third", second(segment(c, "a")), front.RateLimited)
	if p := refused(t, "a generator without segments", second(segment(c, "b")), front.UnknownGenerator); p.Limit == "" {
		t.Errorf("a generator without segments: %v", p)
	}
	if got := s.Statuses()[0]; got.IDs != 20 || got.Requests != 2 {
		t.Errorf("counted %d ids, %d requests, want 20 and 2", got.IDs, got.Requests)
	}
}

func TestSegmentsOfMoreThanABurstKeepToTheRate(t *testing.T) {
	const step = 25
	ring, _ := opened(t, line("slow", "rate=2"))
	for name, test := range map[string]struct {
		tokens      *token.Ring
		addressRate int
	}{
		"of the token":   {tokens: ring},
		"of the address": {addressRate: 2},
	} {
		s, clock := rated(t, test.tokens, config.Limits{Batch: 3, AddressRate: test.addressRate}, &steps{step: step})
		c := known(t, s, "slow")
		const asked = 1000 * time.Second
		got := int64(0)
		for clock.now < asked {
			r, err := segment(c, "a")
			if got += r.Count; err == nil {
				continue
			}
			wait := problemOf(t, err).RetryAfter
			clock.now += wait / 2
			refused(t, name+": before the time", second(segment(c, "a")), front.RateLimited)
			clock.now += wait - wait/2
		}
		if want := int64(2 * asked.Seconds()); got < want || got > want+2*step {
			t.Errorf("%s: got %d numbers in %s, want %d", name, got, asked, want)
		}
	}
}

// rowed is a minter with a row of leaf_alloc, and counts how often it is read.
type rowed struct {
	counting
	reads int
}

func (m *rowed) Caps() kind.Caps { return kind.Caps{Row: m.row} }

func (m *rowed) row(context.Context) (kind.Row, error) {
	m.reads++
	return kind.Row{Tag: "users"}, nil
}

func TestRowOfATableCostsAsMuchAsAnID(t *testing.T) {
	m := &rowed{}
	s, _ := rated(t, nil, config.Limits{Batch: 1, AddressRate: 2}, m)
	c := known(t, s, "")
	for range 2 {
		if rows, err := c.LeafRows(t.Context()); err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v", rows, err)
		}
	}
	if refused(t, "beyond the rate", second(c.LeafRows(t.Context())), front.RateLimited); m.reads != 2 {
		t.Errorf("read %d times", m.reads)
	}
}

// spaced is a minter of a counter that counts by an increment.
type spaced struct {
	counting
	increment int64
}

func (m *spaced) Caps() kind.Caps { return increments(m.increment) }

// increments are the capabilities of a counter.
func increments(by int64) kind.Caps {
	return kind.Caps{Counter: func() kind.Counter { return kind.Counter{Increment: by} }}
}

func TestNoNumberIsUsedUpForARangeThatCanNotBe(t *testing.T) {
	for _, test := range []struct {
		increment, n int
		refused      bool
	}{{1, 5, false}, {0, 5, false}, {3, 5, true}, {3, 1, false}} {
		m := &spaced{increment: int64(test.increment)}
		u, err := anybody(serving(t, m)).Use("a")
		if err != nil {
			t.Fatal(err)
		}
		first, said, err := u.(*Use).consecutive(t.Context(), test.n)
		switch used := int(m.next.Load()); {
		case said != used:
			t.Errorf("%+v: %d numbers are used up, and Range reports %d", test, used, said)
		case !test.refused && (err != nil || first != 0 || used != test.n):
			t.Errorf("%+v: %d, %v, %d numbers are used up", test, first, err, used)
		case test.refused && (problemOf(t, err).Type != front.NotConsecutive || used != 0):
			t.Errorf("%+v: %v, %d numbers are used up", test, err, used)
		}
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func TestUseHasTheTermsOfARequest(t *testing.T) {
	s := New(Config{Settings: settings(t, "a", "b")})
	if err := s.Serve("a", new(counting)); err != nil {
		t.Fatal(err)
	}
	c := s.Client(netip.Addr{})
	for name, form := range map[string]kind.Form{"a": kind.Number, "b": 0} {
		if u, err := c.Use(name); err != nil || u.Kind() != config.KindSnowflake || u.Form() != form || u.Most() < 1 {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
	refused(t, "none", second(c.Use("none")), front.UnknownGenerator)
}
