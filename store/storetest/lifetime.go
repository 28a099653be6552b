package storetest

import (
	"context"
	"errors"
	"fmt"

	"snowfence.example/snowfence/store"
)

func reopen(p *probe) {
	made := p.make("one", "two", "three")
	for round := range 2 {
		p.reopen()
		for key, e := range made {
			p.awaitBoth(key, e.Version, e.Value)
			value := fmt.Sprintf("swapped after reopening %d times", round+1)
			made[key] = store.Entry{Key: key, Value: []byte(value), Version: p.next(p.a, key, e.Version, value)}
		}
	}
	p.awaitList(p.b, p.prefix, made)
}

func closed(p *probe) {
	key := p.key("register")
	version := p.put(p.a, key, []byte("value"))
	p.await(p.b, key, version, []byte("value"))
	p.must(p.a.Close(), "close")
	p.must(p.a.Close(), "close again")
	if err := p.refusals(p.ctx, key, version, store.ErrClosed); !p.harness.Flaky {
		p.must(err, "after close")
	}
	// Another client is not affected.
	value := "by the other client"
	p.await(p.b, key, p.next(p.b, key, version, value), []byte(value))
}

func traits(p *probe) {
	first := p.traits(p.a)
	p.must(first.Validate(), "traits")
	for i := range 3 {
		if i == 2 {
			p.reopen()
		}
		if other := p.traits(p.b); other != first {
			p.failf("traits changed from %v to %v", first, other)
		}
	}
}

// traits is Traits, repeated on a flaky store until the store answers.
func (p *probe) traits(s store.Store) store.Traits {
	for {
		t, err := s.Traits(p.ctx)
		if !p.again(err) {
			p.must(err, "traits")
			return t
		}
	}
}

func clock(p *probe) {
	c, ok := store.ClockOf(p.a)
	if !ok {
		return
	}
	now, err := c.Now(p.ctx)
	p.must(err, "now")
	if now.IsZero() {
		p.failf("now: the zero time")
	}
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	if _, err := c.Now(ended); !errors.Is(err, context.Canceled) {
		p.failf("now under a context that has ended: error %v, want %w", err, context.Canceled)
	}
}
