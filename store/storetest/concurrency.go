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
// client. It ends the check if one of them found something wrong.
func (p *probe) together(n int, f func(i int, s store.Store)) {
	var ready, finished sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		s := p.turn(i)
		ready.Add(1)
		finished.Go(func() {
			ready.Done()
			<-start
			f(i, s)
		})
	}
	ready.Wait()
	close(start)
	finished.Wait()
	p.end()
}

func createOnce(p *probe) {
	for round := range 10 {
		key := p.key(fmt.Sprint(round))
		const contenders = 8
		winners := make([]store.Version, contenders)
		value := func(i int) []byte { return fmt.Appendf(nil, "contender %d", i) }
		p.together(contenders, func(i int, s store.Store) {
			version, err := p.swap(s, key, "", value(i))
			if errors.Is(err, store.ErrConflict) {
				return
			}
			p.must(err, "create")
			winners[i] = version
		})
		var won []int
		for i, version := range winners {
			if version != "" {
				won = append(won, i)
			}
		}
		if len(won) != 1 {
			p.failf("%d of %d contenders created %q: %v", len(won), contenders, key, won)
		}
		p.awaitBoth(key, winners[won[0]], value(won[0]))
	}
}

func contention(p *probe) {
	// The register is a list of labels, and every swap appends one of its own.
	// So the last value shows which swaps took effect, how often and in which
	// order, and a swap that was lost is missing.
	key := p.key("labels")
	const goroutines, swaps = 8, 10
	var mu sync.Mutex
	acknowledged := make(map[string]store.Version)
	refused := make(map[string]bool)
	p.together(goroutines, func(i int, s store.Store) {
		for done, attempt := 0, 0; done < swaps; attempt++ {
			e, err := p.get(s, key)
			if !errors.Is(err, store.ErrNotFound) {
				p.must(err, "get")
			}
			label := fmt.Sprintf("%d.%d", i, attempt)
			version, err := s.Swap(p.ctx, key, e.Version, append(e.Value, label+" "...))
			mu.Lock()
			switch {
			case err == nil:
				acknowledged[label] = version
				done++
			case errors.Is(err, store.ErrConflict):
				refused[label], err = true, nil
			case p.again(err):
				err = nil
				done++ // it may have taken effect or not
			}
			mu.Unlock()
			p.must(err, "swap")
		}
	})
	// A last swap makes sure that the last value is read.
	var labels []string
	var last error
	if p.poll(func() bool {
		var e store.Entry
		if e, last = p.get(p.b, key); last != nil {
			return false
		}
		labels = strings.Fields(string(e.Value))
		_, last = p.swap(p.b, key, e.Version, append(e.Value, "end"...))
		return last == nil
	}) != nil {
		p.must(last, "read the last value")
	}
	times := make(map[string]int)
	for _, label := range labels {
		times[label]++
		switch {
		case times[label] > 1:
			p.failf("swap %s took effect %d times", label, times[label])
		case refused[label]:
			p.failf("swap %s took effect, yet it returned ErrConflict", label)
		}
	}
	versions := make(map[store.Version]string)
	for label, version := range acknowledged {
		if times[label] == 0 {
			p.failf("swap %s was acknowledged and is lost; the effective one: %v", label, labels)
		}
		if other, ok := versions[version]; ok {
			p.failf("swaps %s and %s returned the same version, %q", label, other, version)
		}
		versions[version] = label
	}
	if !p.harness.Flaky && len(labels) != goroutines*swaps {
		p.failf("%d swaps took effect, want %d", len(labels), goroutines*swaps)
	}
}

func conflictTrue(p *probe) {
	// By turns first, because goroutines need not happen to race.
	var left, right store.Version
	for n := range 5 {
		left = p.next(p.a, p.key("left"), left, fmt.Sprintf("left %d", n))
		right = p.next(p.b, p.key("right"), right, fmt.Sprintf("right %d", n))
	}
	p.together(8, func(i int, s store.Store) {
		var version store.Version
		for n := range 10 {
			version = p.next(s, p.key(fmt.Sprint(i)), version, fmt.Sprintf("%d of its only writer", n))
		}
	})
}

func lostReply(p *probe) {
	if p.harness.OpenLossy == nil {
		return
	}
	lossy, loseNext, err := p.harness.OpenLossy(p.ctx)
	p.must(err, "open a client that can lose replies")
	p.extra = append(p.extra, lossy)
	key := p.key("register")
	version := store.Version("")
	for round := range 5 {
		value := fmt.Appendf(nil, "round %d", round)
		loseNext()
		claimed, err := lossy.Swap(p.ctx, key, version, value)
		if errors.Is(err, store.ErrConflict) {
			for range looks {
				if e, err := p.get(p.b, key); err == nil && bytes.Equal(e.Value, value) {
					p.failf("a swap whose reply was lost returned ErrConflict, and took effect")
				}
			}
			p.failf("a swap under the current version, whose reply was lost, returned ErrConflict")
		}
		// The hook loses the reply of a swap that was carried out. So other
		// clients come to see it, once: repeated, it would have a newer version.
		var e store.Entry
		if p.poll(func() bool {
			e, _ = p.get(p.b, key)
			return bytes.Equal(e.Value, value)
		}) != nil {
			p.failf("a swap whose reply was lost (it returned %v) did not take effect", err)
		}
		if err == nil && claimed != e.Version {
			p.failf("a swap whose reply was lost returned version %q, the register is at %q", claimed, e.Version)
		}
		version = e.Version
	}
}

func resend(p *probe) {
	key, value := p.key("register"), "the same bytes"
	for _, prev := range []string{"", "first"} {
		var guard store.Version
		if prev != "" {
			guard = p.put(p.a, key, []byte(prev))
		}
		version := p.next(p.a, key, guard, value)
		for _, s := range p.both() {
			again, err := s.Swap(p.ctx, key, guard, []byte(value))
			if err == nil {
				p.failf("a swap that was sent again took effect again, with version %q", again)
			}
			if !errors.Is(err, store.ErrConflict) && !p.harness.Flaky {
				p.failf("a swap that was sent again: %w, want ErrConflict", err)
			}
		}
		p.awaitBoth(key, version, []byte(value))
	}
}

func contextEnded(p *probe) {
	key := p.key("register")
	version := p.put(p.a, key, []byte("before"))
	cancelled, cancel := context.WithCancel(p.ctx)
	cancel()
	expired, free := context.WithTimeout(p.ctx, 0)
	defer free()
	for _, ended := range []context.Context{cancelled, expired} {
		p.must(p.refusals(ended, key, version, ended.Err()), "under a context that has ended")
	}
	p.awaitBoth(key, version, []byte("before"))
	p.absent(p.b, p.key("created"))
}

func contextEnds(p *probe) {
	key := p.key("register")
	version := p.put(p.a, key, []byte("start"))
	// undecided holds the values of swaps under the current guard whose outcome
	// is unknown, refused the values that must never be seen, and past the versions that a stale read
	// may still show.
	var undecided, refused [][]byte
	past := make(map[store.Version]bool)
	for round := range 60 {
		value := fmt.Appendf(nil, "round %d", round)
		next, err := p.interrupted(key, version, value, round)
		conflict := errors.Is(err, store.ErrConflict)
		switch {
		case err == nil:
			p.await(p.b, key, next, value)
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
		if p.poll(func() bool {
			var err error
			e, err = p.get(p.b, key)
			moved = err == nil && e.Version != version && !past[e.Version]
			return moved || !conflict
		}) != nil {
			// Others do not write: an undecided swap must have made a conflict.
			p.failf("a swap returned ErrConflict under the current version")
		}
		if moved {
			if !holds(undecided, e.Value) {
				p.failf("the register holds %s, which no undecided swap wrote", show(e.Value))
			}
			past[version] = true
			version, undecided = e.Version, nil
		}
	}
	// A swap under another version decides all that is still undecided.
	version = p.put(p.a, key, []byte("end"))
	for range looks {
		e, err := p.get(p.b, key)
		if err == nil && holds(refused, e.Value) {
			p.failf("the register holds %s, which was reported as a conflict", show(e.Value))
		}
	}
	p.awaitBoth(key, version, []byte("end"))
}

// interrupted makes a swap and ends its context at some moment: after yielding
// a number of times that differs from round to round.
func (p *probe) interrupted(key string, prev store.Version, value []byte, round int) (store.Version, error) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var version store.Version
	var err error
	returned := begin(func() {
		version, err = p.a.Swap(ctx, key, prev, value)
	})
	for range round * round {
		runtime.Gosched()
	}
	cancel()
	if late := p.harness.await(ctx, returned); late != nil {
		return "", late // the other two may still be written to
	}
	return version, err
}

func holds(values [][]byte, value []byte) bool {
	return slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, value) })
}
