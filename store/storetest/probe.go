package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"snowfence.example/snowfence/store"
)

// probe is the check of one rule at work, as a testing.T is a test at work: a
// method that finds the rule broken notes it and ends the goroutine.
type probe struct {
	harness Harness
	prefix  string
	ctx     context.Context //nolint:containedctx // of this check alone, like that of a test
	a, b    store.Store     // two independent clients
	extra   []store.Store

	mu     sync.Mutex
	broken []error
}

// note writes a fault down, if there is one.
func (p *probe) note(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.broken = append(p.broken, err)
	}
}

// verdict returns all that was noted.
func (p *probe) verdict() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.broken...)
}

// end ends the check if something is wrong.
func (p *probe) end() {
	if p.verdict() != nil {
		runtime.Goexit() //nolint:forbidigo // as testing.T does: the goroutine is the check's own
	}
}

// failf notes a fault and ends the check.
func (p *probe) failf(format string, args ...any) {
	p.note(fmt.Errorf(format, args...))
	p.end()
}

// must ends the check if a step of it returned an error.
func (p *probe) must(err error, step string) {
	if err != nil {
		p.failf("%s: %w", step, err)
	}
}

func (p *probe) open() {
	var err error
	p.a, err = p.harness.Open(p.ctx)
	p.must(err, "open")
	p.b, err = p.harness.Open(p.ctx)
	p.must(err, "open a second client")
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
func (p *probe) reopen() {
	p.must(p.close(), "close")
	if p.harness.Restart != nil {
		p.must(p.harness.Restart(p.ctx), "restart")
	}
	p.open()
}

// both returns both clients.
func (p *probe) both() []store.Store { return []store.Store{p.a, p.b} }

// turn returns the first client for even numbers, and the second for odd ones.
func (p *probe) turn(i int) store.Store { return p.both()[i%2] }

// key returns a key of this rule's own.
func (p *probe) key(name string) string { return p.prefix + name }

// looks is how often a read is repeated to see that something is *not* there.
const looks = 20

// again reports whether a call that returned an error is to be repeated: on a flaky
// store that is of no meaning.
func (p *probe) again(err error) bool { return err != nil && p.harness.Flaky && p.ctx.Err() == nil }

// get is Get, repeated on a flaky store until the store answers.
func (p *probe) get(s store.Store, key string) (store.Entry, error) {
	for {
		e, err := s.Get(p.ctx, key)
		if errors.Is(err, store.ErrNotFound) || !p.again(err) {
			return e, err
		}
	}
}

// swap is Swap, whose outcome is found out on a flaky store in the manner of
// the contract: the same swap is sent again until it takes effect or conflicts, and the conflict may be
// with its own effect. Its value must be one that nobody else writes.
func (p *probe) swap(s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
	for first := true; ; first = false {
		version, err := s.Swap(p.ctx, key, prev, value)
		switch {
		case !p.again(err):
			return version, err
		case errors.Is(err, store.ErrConflict) && first:
			return "", err
		case errors.Is(err, store.ErrConflict):
			for range looks {
				if e, err := p.get(s, key); err == nil && bytes.Equal(e.Value, value) {
					return e.Version, nil
				}
			}
			return "", err
		}
	}
}

// next is swap under the current version, which has to take effect.
func (p *probe) next(s store.Store, key string, prev store.Version, value string) store.Version {
	version, err := p.swap(s, key, prev, []byte(value))
	if err != nil {
		p.failf("swap %q to %s under the current version, %q: %w", key, show([]byte(value)), prev, err)
	}
	return version
}

// put creates a register that does not exist, or replaces one that does. A
// conflict is taken for the consequence of a stale read, which must pass.
func (p *probe) put(s store.Store, key string, value []byte) store.Version {
	var version store.Version
	var err error
	ended := p.poll(func() bool {
		var e store.Entry
		if e, err = p.get(s, key); err != nil && !errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("get %q: %w", key, err)
			return true
		}
		if version, err = p.swap(s, key, e.Version, value); err != nil {
			err = fmt.Errorf("swap %q under the version just read, %q: %w", key, e.Version, err)
		}
		return !errors.Is(err, store.ErrConflict)
	})
	step := "put " + show(value)
	p.must(err, step)
	p.must(ended, step)
	if version == "" {
		p.failf("swap %q: the version is zero", key)
	}
	return version
}

// await reads key until it has the version and value, because a read may be
// stale, but not for ever.
func (p *probe) await(s store.Store, key string, version store.Version, value []byte) {
	var e store.Entry
	var err error
	ended := p.poll(func() bool {
		e, err = p.get(s, key)
		return err == nil && e.Key == key && e.Version == version && bytes.Equal(e.Value, value)
	})
	client := "first"
	if s == p.b {
		client = "second"
	}
	switch {
	case ended == nil:
	case err != nil:
		p.failf("get %q by the %s client: %w, want %s", key, client, err, show(value))
	default:
		p.failf("get %q by the %s client: %s of %q at version %q, want %s at %q",
			key, client, show(e.Value), e.Key, e.Version, show(value), version)
	}
}

// awaitBoth awaits the same of both clients.
func (p *probe) awaitBoth(key string, version store.Version, value []byte) {
	p.await(p.a, key, version, value)
	p.await(p.b, key, version, value)
}

// kept puts a value and awaits that both clients see it.
func (p *probe) kept(key string, value []byte) {
	p.awaitBoth(key, p.put(p.a, key, value), value)
}

// absent looks whether key stays missing.
func (p *probe) absent(s store.Store, key string) {
	for range looks {
		if e, err := p.get(s, key); !errors.Is(err, store.ErrNotFound) {
			p.failf("get %q: %s, error %v, want ErrNotFound", key, show(e.Value), err)
		}
	}
}

// list gathers List's entries, each key once.
func (p *probe) list(s store.Store, prefix string) (map[string]store.Entry, error) {
	for {
		found := make(map[string]store.Entry)
		var failed error
		for e, err := range s.List(p.ctx, prefix) {
			if failed = err; err != nil {
				break
			}
			if _, twice := found[e.Key]; twice {
				p.failf("list %q yields %q twice", prefix, e.Key)
			}
			found[e.Key] = e
		}
		if failed == nil {
			return found, nil
		}
		if !p.again(failed) {
			return nil, fmt.Errorf("list %q: %w", prefix, failed)
		}
	}
}

// awaitList lists prefix until it yields exactly the entries wanted.
func (p *probe) awaitList(s store.Store, prefix string, want map[string]store.Entry) {
	var err error
	ended := p.poll(func() bool {
		var found map[string]store.Entry
		if found, err = p.list(s, prefix); err == nil {
			err = compare(prefix, found, want)
		}
		return err == nil
	})
	if ended != nil {
		p.must(err, "list again and again")
	}
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
func (p *probe) poll(f func() bool) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.harness.Staleness)
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
func (p *probe) conflicts(s store.Store, key string, prev store.Version, value string) {
	version, err := p.swap(s, key, prev, []byte(value))
	if err == nil {
		p.failf("swap %q under version %q: took effect (version %q), want ErrConflict", key, prev, version)
	}
	if !errors.Is(err, store.ErrConflict) {
		p.failf("swap %q under version %q: %w, want ErrConflict", key, prev, err)
	}
}

// refusals calls every verb of the first client, and reports which do not return the
// error that they should.
func (p *probe) refusals(ctx context.Context, key string, version store.Version, want error) error {
	_, getErr := p.a.Get(ctx, key)
	_, swapErr := p.a.Swap(ctx, key, version, []byte("after"))
	_, createErr := p.a.Swap(ctx, p.key("created"), "", []byte("after"))
	_, traitsErr := p.a.Traits(ctx)
	var listErr error
	for _, err := range p.a.List(ctx, p.prefix) {
		if listErr = err; err != nil {
			break
		}
	}
	var errs []error
	for i, err := range []error{getErr, swapErr, createErr, traitsErr, listErr} {
		if !errors.Is(err, want) {
			call := []string{"get", "swap", "swap to create", "traits", "list"}[i]
			errs = append(errs, fmt.Errorf("%s: error %v, want %w", call, err, want))
		}
	}
	return errors.Join(errs...)
}

// show shortens a value for a message.
func show(value []byte) string {
	const shown = 32
	if len(value) > shown {
		return fmt.Sprintf("%q… (%d bytes)", value[:shown], len(value))
	}
	return fmt.Sprintf("%q", value)
}
