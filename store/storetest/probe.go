package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/store"
)

// probe is what the check of one rule works with.
type probe struct {
	harness Harness
	prefix  string
	a, b    store.Store // two independent clients
	extra   []store.Store
}

func (p *probe) open(ctx context.Context) (err error) {
	if p.a, err = p.harness.Open(ctx); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if p.b, err = p.harness.Open(ctx); err != nil {
		return fmt.Errorf("open a second client: %w", err)
	}
	return nil
}

func (p *probe) close() error {
	var errs []error
	for _, s := range append(p.extra, p.a, p.b) {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	p.a, p.b, p.extra = nil, nil, nil
	return errors.Join(errs...)
}

// reopen closes both clients, restarts the store and opens two new ones.
func (p *probe) reopen(ctx context.Context) error {
	if err := p.close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if p.harness.Restart != nil {
		if err := p.harness.Restart(ctx); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
	}
	return p.open(ctx)
}

// key returns a key of this rule's own.
func (p *probe) key(name string) string { return p.prefix + name }

// looks is how often a read is repeated to see that something is *not* there.
const looks = 20

// get is Get, repeated on a flaky store until the store answers.
func (p *probe) get(ctx context.Context, s store.Store, key string) (store.Entry, error) {
	for {
		e, err := s.Get(ctx, key)
		if err == nil || errors.Is(err, store.ErrNotFound) || !p.harness.Flaky || ctx.Err() != nil {
			return e, err
		}
	}
}

// swap is Swap, whose outcome is found out on a flaky store in the manner of
// the contract: the same swap is sent again until it takes effect or
// conflicts, and what conflicts may be its own effect. Its value must be one
// that nobody else writes.
func (p *probe) swap(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
	for first := true; ; first = false {
		version, err := s.Swap(ctx, key, prev, value)
		switch {
		case err == nil || !p.harness.Flaky || ctx.Err() != nil:
			return version, err
		case errors.Is(err, store.ErrConflict) && first:
			return "", err
		case errors.Is(err, store.ErrConflict):
			for range looks {
				if e, err := p.get(ctx, s, key); err == nil && bytes.Equal(e.Value, value) {
					return e.Version, nil
				}
			}
			return "", err
		}
	}
}

// put creates a register that does not exist, or replaces one that does. A
// conflict is taken for the consequence of a stale read, which must pass.
func (p *probe) put(ctx context.Context, s store.Store, key string, value []byte) (store.Version, error) {
	var version store.Version
	var err error
	ended := p.poll(ctx, func() bool {
		var e store.Entry
		if e, err = p.get(ctx, s, key); err != nil && !errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("get %q: %w", key, err)
			return true
		}
		if version, err = p.swap(ctx, s, key, e.Version, value); err != nil {
			err = fmt.Errorf("swap %q under the version just read, %q: %w", key, e.Version, err)
		}
		return !errors.Is(err, store.ErrConflict)
	})
	if err != nil {
		return "", err
	}
	if ended != nil {
		return "", ended
	}
	if version == "" {
		return "", fmt.Errorf("swap %q: the version is zero", key)
	}
	return version, nil
}

// await reads key until it has the version and value, because a read may be
// stale, but not for ever.
func (p *probe) await(ctx context.Context, s store.Store, key string, version store.Version, value []byte) error {
	var e store.Entry
	var err error
	ended := p.poll(ctx, func() bool {
		e, err = p.get(ctx, s, key)
		return err == nil && e.Key == key && e.Version == version && bytes.Equal(e.Value, value)
	})
	if ended == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %q: %w, want %s", key, err, show(value))
	}
	return fmt.Errorf("get %q: %s of %q at version %q, want %s at %q",
		key, show(e.Value), e.Key, e.Version, show(value), version)
}

// awaitBoth awaits the same of both clients.
func (p *probe) awaitBoth(ctx context.Context, key string, version store.Version, value []byte) error {
	if err := p.await(ctx, p.a, key, version, value); err != nil {
		return fmt.Errorf("by the first client: %w", err)
	}
	if err := p.await(ctx, p.b, key, version, value); err != nil {
		return fmt.Errorf("by the second client: %w", err)
	}
	return nil
}

// absent looks whether key stays missing.
func (p *probe) absent(ctx context.Context, s store.Store, key string) error {
	for range looks {
		if e, err := p.get(ctx, s, key); err == nil {
			return fmt.Errorf("get %q: %s, want ErrNotFound", key, show(e.Value))
		} else if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("get %q: %w, want ErrNotFound", key, err)
		}
	}
	return nil
}

// list gathers what List yields, and checks what holds for any of it.
func (p *probe) list(ctx context.Context, s store.Store, prefix string) (map[string]store.Entry, error) {
	for {
		found, err := listOnce(ctx, s, prefix)
		var bad *listError
		if err == nil || errors.As(err, &bad) || !p.harness.Flaky || ctx.Err() != nil {
			return found, err
		}
	}
}

// listError is something that List must not yield, flaky or not.
type listError struct{ text string }

func (e *listError) Error() string { return e.text }

func listOnce(ctx context.Context, s store.Store, prefix string) (map[string]store.Entry, error) {
	found := make(map[string]store.Entry)
	for e, err := range s.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", prefix, err)
		}
		if _, twice := found[e.Key]; twice {
			return nil, &listError{fmt.Sprintf("list %q yields %q twice", prefix, e.Key)}
		}
		found[e.Key] = e
	}
	return found, nil
}

// awaitList lists prefix until it yields exactly the entries wanted.
func (p *probe) awaitList(ctx context.Context, s store.Store, prefix string, want map[string]store.Entry) error {
	var err error
	ended := p.poll(ctx, func() bool {
		var found map[string]store.Entry
		if found, err = p.list(ctx, s, prefix); err == nil {
			err = compare(prefix, found, want)
		}
		return err == nil
	})
	if ended == nil {
		return nil
	}
	return err
}

func compare(prefix string, found, want map[string]store.Entry) error {
	for key, w := range want {
		f, ok := found[key]
		if !ok {
			return fmt.Errorf("list %q does not yield %q", prefix, key)
		}
		if f.Version != w.Version || !bytes.Equal(f.Value, w.Value) {
			return fmt.Errorf("list %q yields %q with %s at version %q, want %s at %q",
				prefix, key, show(f.Value), f.Version, show(w.Value), w.Version)
		}
	}
	for key := range found {
		if _, ok := want[key]; !ok {
			return fmt.Errorf("list %q yields %q", prefix, key)
		}
	}
	return nil
}

// poll tries f until it succeeds, at growing intervals, for as long as a read
// may be stale.
func (p *probe) poll(ctx context.Context, f func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.harness.Staleness)
	defer cancel()
	// Most stale reads pass at once.
	for range looks {
		if f() {
			return nil
		}
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if f() {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// conflicts checks that a swap is refused by ErrConflict.
func (p *probe) conflicts(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) error {
	version, err := p.swap(ctx, s, key, prev, value)
	if err == nil {
		return fmt.Errorf("swap %q under version %q: took effect (version %q), want ErrConflict", key, prev, version)
	}
	if !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("swap %q under version %q: %w, want ErrConflict", key, prev, err)
	}
	return nil
}

// show shortens a value for a message.
func show(value []byte) string {
	const shown = 32
	if len(value) > shown {
		return fmt.Sprintf("%q… (%d bytes)", value[:shown], len(value))
	}
	return fmt.Sprintf("%q", value)
}
