package storetest

import (
	"errors"
	"fmt"

	"snowfence.example/snowfence/store"
)

func absent(p *probe) {
	p.absent(p.a, p.key("never"))
	p.absent(p.b, p.key("never"))
}

func create(p *probe) {
	key, value := p.key("new"), "made by the first"
	version := p.next(p.a, key, "", value)
	if version == "" {
		p.failf("create: the version is zero")
	}
	p.awaitBoth(key, version, []byte(value))
}

func replace(p *probe) {
	key := p.key("replaced")
	version := p.put(p.a, key, []byte("first"))
	// By turns, so that each client builds on the other's version.
	for i, s := range []store.Store{p.b, p.a, p.a, p.b} {
		value := fmt.Sprintf("value %d", i)
		next := p.next(s, key, version, value)
		if next == "" || next == version {
			p.failf("swap number %d: version %q after %q", i+1, next, version)
		}
		p.awaitBoth(key, next, []byte(value))
		version = next
	}
}

func createExisting(p *probe) {
	key := p.key("existing")
	p.put(p.a, key, []byte("first"))
	p.conflicts(p.a, key, "", "again by the first client")
	p.conflicts(p.b, key, "", "again by the second client")
}

func staleVersion(p *probe) {
	key := p.key("register")
	first := p.put(p.a, key, []byte("first"))
	second := p.next(p.b, key, first, "second")
	p.next(p.b, key, second, "third")
	for i, old := range []store.Version{first, second} {
		p.conflicts(p.a, key, old, fmt.Sprintf("late %d by the first", i))
		p.conflicts(p.b, key, old, fmt.Sprintf("late %d by the second", i))
	}
}

func versionOfMissing(p *probe) {
	version := p.put(p.a, p.key("there"), []byte("value"))
	p.conflicts(p.a, p.key("missing"), version, "made from nothing")
	p.conflicts(p.a, p.key("missing"), "no-version-of-any-engine", "made from nothing too")
}

func versionOfAnother(p *probe) {
	// Equal values and equal histories: only the keys differ.
	one, other := p.key("one"), p.key("other")
	for range 3 {
		p.put(p.a, one, []byte("twin"))
		p.put(p.a, other, []byte("twin"))
	}
	e, err := p.get(p.a, one)
	p.must(err, "get "+one)
	p.conflicts(p.a, other, e.Version, "under its twin's version")
}

func versionNotValue(p *probe) {
	key := p.key("back-and-forth")
	first := p.put(p.a, key, []byte("A"))
	p.next(p.b, key, p.next(p.b, key, first, "B"), "A")
	p.conflicts(p.a, key, first, "under the version of the first A")
}

func versionShared(p *probe) {
	key, value := p.key("shared"), []byte("by swap")
	version := p.put(p.a, key, value)
	p.await(p.b, key, version, value)
	p.awaitList(p.b, key, map[string]store.Entry{key: {Key: key, Value: value, Version: version}})
	p.next(p.b, key, version, "by the other client")
}

func versionUnique(p *probe) {
	key := p.key("counted")
	seen := make(map[store.Version]int)
	for swaps := range 60 {
		if swaps == 30 {
			p.reopen()
		}
		s := p.a
		if swaps%3 == 0 {
			s = p.b
		}
		// Four different values again and again, two equal ones in a row. But
		// where a value must show whose swap took effect, all differ.
		value := swaps / 2 % 4
		if p.harness.Flaky {
			value = swaps
		}
		version := p.put(s, key, fmt.Appendf(nil, "value %d", value))
		if before, ok := seen[version]; ok {
			p.failf("swap number %d returns version %q, as swap number %d did", swaps, version, before)
		}
		seen[version] = swaps
	}
}

func versionAfterRollback(p *probe) {
	if p.harness.Snapshot == nil {
		return
	}
	kept, made := p.key("kept"), p.key("made-since")
	p.put(p.a, kept, []byte("backed up"))
	restore, err := p.harness.Snapshot(p.ctx)
	p.must(err, "snapshot")
	seen := make(map[string]bool) // of a key and a version
	for round := range 4 {
		for i := range 5 {
			for _, key := range []string{kept, made} {
				version := p.put(p.a, key, fmt.Appendf(nil, "value %d", i))
				state := key + " " + string(version)
				if seen[state] {
					p.failf("after %d rollbacks swap returns version %q of %q again", round, version, key)
				}
				seen[state] = true
			}
		}
		p.must(restore(p.ctx), "restore")
	}
}

func conflictFinal(p *probe) {
	key := p.key("register")
	first := p.put(p.a, key, []byte("first"))
	current := p.next(p.a, key, first, "second")
	// Whether the swap is refused is another rule's matter.
	lost := "reported as a conflict"
	if _, err := p.b.Swap(p.ctx, key, first, []byte(lost)); !errors.Is(err, store.ErrConflict) {
		return
	}
	p.awaitBoth(key, current, []byte("second"))
	// Nor may it take effect once its time seems to have come.
	current = p.next(p.a, key, current, "first")
	for range looks {
		e, err := p.get(p.b, key)
		p.must(err, "get "+key)
		if string(e.Value) == lost {
			p.failf("a swap that was reported as a conflict took effect later")
		}
	}
	p.awaitBoth(key, current, []byte("first"))
}
