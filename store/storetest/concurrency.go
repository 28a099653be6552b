package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"snowfence.example/snowfence/store"
)

// together runs f on n goroutines that start as one, half of them on each
// client, and returns their errors.
func (p *probe) together(n int, f func(i int, s store.Store) error) error {
	var ready, finished sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		s := p.a
		if i%2 == 1 {
			s = p.b
		}
		ready.Add(1)
		finished.Go(func() {
			ready.Done()
			<-start
			errs[i] = f(i, s)
		})
	}
	ready.Wait()
	close(start)
	finished.Wait()
	return errors.Join(errs...)
}

func createOnce(ctx context.Context, p *probe) error {
	for round := range 10 {
		key := p.key(fmt.Sprint(round))
		const contenders = 8
		winners := make([]store.Version, contenders)
		value := func(i int) []byte { return fmt.Appendf(nil, "contender %d", i) }
		err := p.together(contenders, func(i int, s store.Store) error {
			version, err := p.swap(ctx, s, key, "", value(i))
			if errors.Is(err, store.ErrConflict) {
				return nil
			}
			winners[i] = version
			return err
		})
		if err != nil {
			return err
		}
		var won []int
		for i, version := range winners {
			if version != "" {
				won = append(won, i)
			}
		}
		if len(won) != 1 {
			return fmt.Errorf("%d of %d contenders created %q: %v", len(won), contenders, key, won)
		}
		if err := p.awaitBoth(ctx, key, winners[won[0]], value(won[0])); err != nil {
			return err
		}
	}
	return nil
}

func contention(ctx context.Context, p *probe) error {
	// The register is a list of labels, and every swap appends one of its own.
	// So the last value tells which swaps took effect, how often and in which
	// order, and a swap that was lost is missing.
	key := p.key("labels")
	const goroutines, swaps = 8, 10
	var mu sync.Mutex
	acknowledged := make(map[string]store.Version)
	refused := make(map[string]bool)
	err := p.together(goroutines, func(i int, s store.Store) error {
		for done, attempt := 0, 0; done < swaps; attempt++ {
			e, err := p.get(ctx, s, key)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("get: %w", err)
			}
			label := fmt.Sprintf("%d.%d", i, attempt)
			version, err := s.Swap(ctx, key, e.Version, append(e.Value, label+" "...))
			mu.Lock()
			switch {
			case err == nil:
				acknowledged[label] = version
				done++
			case errors.Is(err, store.ErrConflict):
				refused[label] = true
			case p.harness.Flaky && ctx.Err() == nil:
				done++ // it may have taken effect or not
			default:
				mu.Unlock()
				return fmt.Errorf("swap: %w", err)
			}
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A last swap makes sure that what is read is the last value.
	var labels []string
	var last error
	ended := p.poll(ctx, func() bool {
		e, err := p.get(ctx, p.b, key)
		if err != nil {
			last = err
			return false
		}
		labels = strings.Fields(string(e.Value))
		_, last = p.swap(ctx, p.b, key, e.Version, append(e.Value, "end"...))
		return last == nil
	})
	if ended != nil {
		return fmt.Errorf("read the last value: %w", last)
	}
	times := make(map[string]int)
	for _, label := range labels {
		times[label]++
		switch {
		case times[label] > 1:
			return fmt.Errorf("swap %s took effect %d times", label, times[label])
		case refused[label]:
			return fmt.Errorf("swap %s took effect, yet it returned ErrConflict", label)
		}
	}
	versions := make(map[store.Version]string)
	for label, version := range acknowledged {
		if times[label] == 0 {
			return fmt.Errorf("swap %s was acknowledged and is lost; what took effect: %v", label, labels)
		}
		if other, ok := versions[version]; ok {
			return fmt.Errorf("swaps %s and %s returned the same version, %q", label, other, version)
		}
		versions[version] = label
	}
	if !p.harness.Flaky && len(labels) != goroutines*swaps {
		return fmt.Errorf("%d swaps took effect, want %d", len(labels), goroutines*swaps)
	}
	return nil
}

func conflictTrue(ctx context.Context, p *probe) error {
	// By turns first, because goroutines need not happen to race.
	var left, right store.Version
	for n := range 5 {
		var err error
		if left, err = p.swap(ctx, p.a, p.key("left"), left, fmt.Appendf(nil, "left %d", n)); err != nil {
			return fmt.Errorf("swap by the only writer of a key: %w", err)
		}
		if right, err = p.swap(ctx, p.b, p.key("right"), right, fmt.Appendf(nil, "right %d", n)); err != nil {
			return fmt.Errorf("swap by the only writer of another key: %w", err)
		}
	}
	return p.together(8, func(i int, s store.Store) error {
		key := p.key(fmt.Sprint(i))
		var version store.Version
		for n := range 10 {
			next, err := p.swap(ctx, s, key, version, fmt.Appendf(nil, "%d of its only writer", n))
			if err != nil {
				return fmt.Errorf("swap number %d of %q, by its only writer: %w", n+1, key, err)
			}
			version = next
		}
		return nil
	})
}

func lostReply(ctx context.Context, p *probe) error {
	if p.harness.OpenLossy == nil {
		return nil
	}
	lossy, loseNext, err := p.harness.OpenLossy(ctx)
	if err != nil {
		return fmt.Errorf("open a client that can lose replies: %w", err)
	}
	p.extra = append(p.extra, lossy)
	key := p.key("register")
	version := store.Version("")
	for round := range 5 {
		value := fmt.Appendf(nil, "round %d", round)
		loseNext()
		claimed, err := lossy.Swap(ctx, key, version, value)
		if errors.Is(err, store.ErrConflict) {
			for range looks {
				if e, err := p.get(ctx, p.b, key); err == nil && bytes.Equal(e.Value, value) {
					return errors.New("a swap whose reply was lost returned ErrConflict, and took effect")
				}
			}
			return errors.New("a swap under the current version, whose reply was lost, returned ErrConflict")
		}
		// The hook loses the reply of a swap that was carried out. So other
		// clients come to see it, once: repeated, it would have a newer version.
		var e store.Entry
		seen := p.poll(ctx, func() bool {
			e, _ = p.get(ctx, p.b, key)
			return bytes.Equal(e.Value, value)
		})
		if seen != nil {
			return fmt.Errorf("a swap whose reply was lost (it returned %v) did not take effect", err)
		}
		if err == nil && claimed != e.Version {
			return fmt.Errorf("a swap whose reply was lost returned version %q, the register is at %q", claimed, e.Version)
		}
		version = e.Version
	}
	return nil
}

func resend(ctx context.Context, p *probe) error {
	key, value := p.key("register"), []byte("the same bytes")
	for _, prev := range []string{"", "first"} {
		var guard store.Version
		if prev != "" {
			var err error
			if guard, err = p.put(ctx, p.a, key, []byte(prev)); err != nil {
				return err
			}
		}
		version, err := p.swap(ctx, p.a, key, guard, value)
		if err != nil {
			return fmt.Errorf("swap under the current version: %w", err)
		}
		for _, s := range []store.Store{p.a, p.b} {
			again, err := s.Swap(ctx, key, guard, value)
			if err == nil {
				return fmt.Errorf("a swap that was sent again took effect again, with version %q", again)
			}
			if !errors.Is(err, store.ErrConflict) && !p.harness.Flaky {
				return fmt.Errorf("a swap that was sent again: %w, want ErrConflict", err)
			}
		}
		if err := p.awaitBoth(ctx, key, version, value); err != nil {
			return fmt.Errorf("after a swap that was sent again: %w", err)
		}
	}
	return nil
}

func contextEnded(ctx context.Context, p *probe) error {
	key := p.key("register")
	version, err := p.put(ctx, p.a, key, []byte("before"))
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	expired, free := context.WithTimeout(ctx, 0)
	defer free()
	for _, ended := range []context.Context{cancelled, expired} {
		want := ended.Err()
		is := func(call string, err error) error {
			if !errors.Is(err, want) {
				return fmt.Errorf("%s under a context that has ended: error %v, want %v", call, err, want)
			}
			return nil
		}
		_, getErr := p.a.Get(ended, key)
		_, swapErr := p.a.Swap(ended, key, version, []byte("after"))
		_, createErr := p.a.Swap(ended, p.key("created"), "", []byte("after"))
		_, traitsErr := p.a.Traits(ended)
		var listErr error
		for _, err := range p.a.List(ended, p.prefix) {
			listErr = err
			if err != nil {
				break
			}
		}
		err := errors.Join(is("get", getErr), is("swap", swapErr), is("swap to create", createErr),
			is("list", listErr), is("traits", traitsErr))
		if err != nil {
			return err
		}
	}
	if err := p.awaitBoth(ctx, key, version, []byte("before")); err != nil {
		return fmt.Errorf("after a swap under a context that has ended: %w", err)
	}
	return p.absent(ctx, p.b, p.key("created"))
}

func contextEnds(ctx context.Context, p *probe) error {
	key := p.key("register")
	version, err := p.put(ctx, p.a, key, []byte("start"))
	if err != nil {
		return err
	}
	// undecided holds the values of swaps under the current guard whose outcome
	// is unknown, refused those that must never be seen, and past the versions
	// that a stale read may still show.
	var undecided, refused [][]byte
	past := make(map[store.Version]bool)
	for round := range 60 {
		value := fmt.Appendf(nil, "round %d", round)
		next, err := p.interrupted(ctx, key, version, value, round)
		conflict := errors.Is(err, store.ErrConflict)
		switch {
		case err == nil:
			if err := p.await(ctx, p.b, key, next, value); err != nil {
				return fmt.Errorf("after a swap that succeeded: %w", err)
			}
			past[version] = true
			version, undecided = next, nil
			continue
		case conflict:
			refused = append(refused, value)
		default:
			undecided = append(undecided, value)
		}
		var e store.Entry
		moved := false
		decided := p.poll(ctx, func() bool {
			var err error
			e, err = p.get(ctx, p.b, key)
			moved = err == nil && e.Version != version && !past[e.Version]
			return moved || !conflict
		})
		if decided != nil {
			// Nobody else writes: an undecided swap must have made a conflict.
			return errors.New("a swap returned ErrConflict under the current version")
		}
		if moved {
			if !holds(undecided, e.Value) {
				return fmt.Errorf("the register holds %s, which no undecided swap wrote", show(e.Value))
			}
			past[version] = true
			version, undecided = e.Version, nil
		}
	}
	// A swap under another version decides all that is still undecided.
	version, err = p.put(ctx, p.a, key, []byte("end"))
	if err != nil {
		return err
	}
	for range looks {
		e, err := p.get(ctx, p.b, key)
		if err == nil && holds(refused, e.Value) {
			return fmt.Errorf("the register holds %s, which was reported as a conflict", show(e.Value))
		}
	}
	return p.awaitBoth(ctx, key, version, []byte("end"))
}

// interrupted makes a swap and ends its context at some moment: after yielding
// a number of times that differs from round to round.
func (p *probe) interrupted(ctx context.Context, key string, prev store.Version, value []byte, round int) (store.Version, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		version store.Version
		err     error
	}
	returned := make(chan outcome, 1)
	go func() {
		version, err := p.a.Swap(ctx, key, prev, value)
		returned <- outcome{version, err}
	}()
	for range round * round {
		runtime.Gosched()
	}
	cancel()
	var o outcome
	err := p.harness.bounded(ctx, func() error {
		o = <-returned
		return o.err
	})
	if err != nil {
		return "", err // o may still be written to
	}
	return o.version, nil
}

func holds(values [][]byte, value []byte) bool {
	return slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, value) })
}
