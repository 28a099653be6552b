package storetest

import (
	"context"
	"errors"
	"fmt"

	"snowfence.example/snowfence/store"
)

func reopen(ctx context.Context, p *probe) error {
	made, err := p.make(ctx, p.key("one"), p.key("two"), p.key("three"))
	if err != nil {
		return err
	}
	for round := range 2 {
		if err := p.reopen(ctx); err != nil {
			return err
		}
		for key, e := range made {
			if err := p.awaitBoth(ctx, key, e.Version, e.Value); err != nil {
				return fmt.Errorf("reopened: %w", err)
			}
			value := fmt.Appendf(nil, "swapped after reopening %d times", round+1)
			version, err := p.swap(ctx, p.a, key, e.Version, value)
			if err != nil {
				return fmt.Errorf("reopened: swap under a version of before: %w", err)
			}
			made[key] = store.Entry{Key: key, Value: value, Version: version}
		}
	}
	return p.awaitList(ctx, p.b, p.prefix, made)
}

func closed(ctx context.Context, p *probe) error {
	key := p.key("register")
	version, err := p.put(ctx, p.a, key, []byte("value"))
	if err != nil {
		return err
	}
	if err := p.await(ctx, p.b, key, version, []byte("value")); err != nil {
		return err
	}
	for i := range 2 {
		if err := p.a.Close(); err != nil {
			return fmt.Errorf("close, call %d: %w", i+1, err)
		}
	}
	is := func(call string, err error) error {
		if !errors.Is(err, store.ErrClosed) && !p.harness.Flaky {
			return fmt.Errorf("%s after close: error %v, want ErrClosed", call, err)
		}
		return nil
	}
	_, getErr := p.a.Get(ctx, key)
	_, swapErr := p.a.Swap(ctx, key, version, []byte("after close"))
	_, traitsErr := p.a.Traits(ctx)
	var listErr error
	for _, err := range p.a.List(ctx, p.prefix) {
		if listErr = err; err != nil {
			break
		}
	}
	if err := errors.Join(is("get", getErr), is("swap", swapErr), is("list", listErr), is("traits", traitsErr)); err != nil {
		return err
	}
	next, err := p.swap(ctx, p.b, key, version, []byte("by the other client"))
	if err != nil {
		return fmt.Errorf("swap by a client that is open, after another was closed: %w", err)
	}
	return p.await(ctx, p.b, key, next, []byte("by the other client"))
}

func traits(ctx context.Context, p *probe) error {
	first, err := p.traits(ctx, p.a)
	if err != nil {
		return err
	}
	if err := first.Validate(); err != nil {
		return err
	}
	for i := range 3 {
		if i == 2 {
			if err := p.reopen(ctx); err != nil {
				return err
			}
		}
		other, err := p.traits(ctx, p.b)
		if err != nil {
			return err
		}
		if other != first {
			return fmt.Errorf("traits changed from %v to %v", first, other)
		}
	}
	return nil
}

// traits is Traits, repeated on a flaky store until the store answers.
func (p *probe) traits(ctx context.Context, s store.Store) (store.Traits, error) {
	for {
		t, err := s.Traits(ctx)
		if err == nil || !p.harness.Flaky || ctx.Err() != nil {
			return t, err
		}
	}
}

func clock(ctx context.Context, p *probe) error {
	c, ok := store.ClockOf(p.a)
	if !ok {
		return nil
	}
	now, err := c.Now(ctx)
	if err != nil {
		return fmt.Errorf("now: %w", err)
	}
	if now.IsZero() {
		return errors.New("now: the zero time")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Now(ended); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("now under a context that has ended: error %v, want %v", err, context.Canceled)
	}
	return nil
}
