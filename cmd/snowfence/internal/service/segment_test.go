package service

import (
	"context"
	"net/netip"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/kind"
)

// steps is a minter that gives segments of ten numbers.
type steps struct{ counting }

func (*steps) Step() int64 { return 10 }

func (m *steps) Segment(context.Context) (counter.Range, error) {
	return counter.Range{First: m.next.Add(10) - 10, Increment: 1, Count: 10}, m.err
}

func TestSegmentCostsAllItsNumbers(t *testing.T) {
	settings := settings(t, "a", "b")
	settings.Limits = config.Limits{Batch: 10, AddressRate: 25}
	s := New(Config{Settings: settings, Clock: &fixedClock{}})
	if err := s.Serve("a", new(steps)); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve("b", new(counting)); err != nil {
		t.Fatal(err)
	}
	c := s.Client(netip.MustParseAddr("192.0.2.1"))
	for range 2 {
		if r, err := c.Segment(t.Context(), "a"); err != nil || r.Count != 10 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if p := problemOf(t, second(c.Segment(t.Context(), "a"))); p.Type != RateLimited {
		t.Errorf("the third: %v", p)
	}
	if p := problemOf(t, second(c.Segment(t.Context(), "b"))); p.Type != UnknownGenerator || p.Limit == "" {
		t.Errorf("a generator without segments: %v", p)
	}
	if got := s.Statuses()[0]; got.IDs != 20 || got.Requests != 2 {
		t.Errorf("counted %d ids, %d requests, want 20 and 2", got.IDs, got.Requests)
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func TestTermsAreThoseOfARequest(t *testing.T) {
	s := New(Config{Settings: settings(t, "a", "b")})
	if err := s.Serve("a", new(counting)); err != nil {
		t.Fatal(err)
	}
	c := s.Client(netip.Addr{})
	for name, form := range map[string]kind.Form{"a": kind.Number, "b": 0} {
		if got, err := c.Terms(name); err != nil || got.Kind != config.KindSnowflake || got.Form != form || got.Most < 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if p := problemOf(t, second(c.Terms("none"))); p.Type != UnknownGenerator {
		t.Errorf("none: %v", p)
	}
}
