package storetest

import (
	"context"
	"errors"
	"fmt"

	"snowfence.example/snowfence/store"
)

func absent(ctx context.Context, p *probe) error {
	return errors.Join(p.absent(ctx, p.a, p.key("never")), p.absent(ctx, p.b, p.key("never")))
}

func create(ctx context.Context, p *probe) error {
	key, value := p.key("new"), []byte("made by the first")
	version, err := p.swap(ctx, p.a, key, "", value)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if version == "" {
		return errors.New("create: the version is zero")
	}
	return p.awaitBoth(ctx, key, version, value)
}

func replace(ctx context.Context, p *probe) error {
	key := p.key("replaced")
	version, err := p.put(ctx, p.a, key, []byte("first"))
	if err != nil {
		return err
	}
	// By turns, so that each client builds on the other's version.
	for i, s := range []store.Store{p.b, p.a, p.a, p.b} {
		value := fmt.Appendf(nil, "value %d", i)
		next, err := p.swap(ctx, s, key, version, value)
		if err != nil {
			return fmt.Errorf("swap number %d, under the current version: %w", i+1, err)
		}
		if next == "" || next == version {
			return fmt.Errorf("swap number %d: version %q after %q", i+1, next, version)
		}
		if err := p.awaitBoth(ctx, key, next, value); err != nil {
			return err
		}
		version = next
	}
	return nil
}

func createExisting(ctx context.Context, p *probe) error {
	key := p.key("existing")
	if _, err := p.put(ctx, p.a, key, []byte("first")); err != nil {
		return err
	}
	if err := p.conflicts(ctx, p.a, key, "", []byte("again by the first client")); err != nil {
		return err
	}
	return p.conflicts(ctx, p.b, key, "", []byte("again by the second client"))
}

func staleVersion(ctx context.Context, p *probe) error {
	key := p.key("register")
	first, err := p.put(ctx, p.a, key, []byte("first"))
	if err != nil {
		return err
	}
	second, err := p.swap(ctx, p.b, key, first, []byte("second"))
	if err != nil {
		return fmt.Errorf("swap under the current version: %w", err)
	}
	if _, err := p.swap(ctx, p.b, key, second, []byte("third")); err != nil {
		return fmt.Errorf("swap under the current version: %w", err)
	}
	for i, old := range []store.Version{first, second} {
		if err := p.conflicts(ctx, p.a, key, old, fmt.Appendf(nil, "late %d by the first", i)); err != nil {
			return err
		}
		if err := p.conflicts(ctx, p.b, key, old, fmt.Appendf(nil, "late %d by the second", i)); err != nil {
			return err
		}
	}
	return nil
}

func versionOfMissing(ctx context.Context, p *probe) error {
	version, err := p.put(ctx, p.a, p.key("there"), []byte("value"))
	if err != nil {
		return err
	}
	key := p.key("missing")
	if err := p.conflicts(ctx, p.a, key, version, []byte("made from nothing")); err != nil {
		return err
	}
	return p.conflicts(ctx, p.a, key, "no-version-of-any-engine", []byte("made from nothing too"))
}

func versionOfAnother(ctx context.Context, p *probe) error {
	// Equal values and equal histories: only the keys differ.
	one, other := p.key("one"), p.key("other")
	for range 3 {
		if _, err := p.put(ctx, p.a, one, []byte("twin")); err != nil {
			return err
		}
		if _, err := p.put(ctx, p.a, other, []byte("twin")); err != nil {
			return err
		}
	}
	e, err := p.get(ctx, p.a, one)
	if err != nil {
		return fmt.Errorf("get %q: %w", one, err)
	}
	return p.conflicts(ctx, p.a, other, e.Version, []byte("under its twin's version"))
}

func versionNotValue(ctx context.Context, p *probe) error {
	key := p.key("back-and-forth")
	first, err := p.put(ctx, p.a, key, []byte("A"))
	if err != nil {
		return err
	}
	version := first
	for _, value := range []string{"B", "A"} {
		if version, err = p.swap(ctx, p.b, key, version, []byte(value)); err != nil {
			return fmt.Errorf("swap to %s: %w", value, err)
		}
	}
	return p.conflicts(ctx, p.a, key, first, []byte("under the version of the first A"))
}

func versionShared(ctx context.Context, p *probe) error {
	key := p.key("shared")
	version, err := p.put(ctx, p.a, key, []byte("by swap"))
	if err != nil {
		return err
	}
	if err := p.await(ctx, p.b, key, version, []byte("by swap")); err != nil {
		return err
	}
	want := map[string]store.Entry{key: {Key: key, Value: []byte("by swap"), Version: version}}
	if err := p.awaitList(ctx, p.b, key, want); err != nil {
		return err
	}
	if _, err := p.swap(ctx, p.b, key, version, []byte("by the other client")); err != nil {
		return fmt.Errorf("swap under another client's version: %w", err)
	}
	return nil
}

func versionUnique(ctx context.Context, p *probe) error {
	key := p.key("counted")
	seen := make(map[store.Version]int)
	swaps := 0
	for round := range 2 {
		for i := range 30 {
			s := p.a
			if i%3 == 0 {
				s = p.b
			}
			// Four different values again and again, two equal ones in a row. But
			// where a value must tell whose swap took effect, all differ.
			value := fmt.Appendf(nil, "value %d", i/2%4)
			if p.harness.Flaky {
				value = fmt.Appendf(nil, "value %d", swaps)
			}
			version, err := p.put(ctx, s, key, value)
			if err != nil {
				return fmt.Errorf("swap number %d: %w", swaps, err)
			}
			if before, ok := seen[version]; ok {
				return fmt.Errorf("swap number %d returns version %q, as swap number %d did", swaps, version, before)
			}
			seen[version] = swaps
			swaps++
		}
		if round == 0 {
			if err := p.reopen(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func versionAfterRollback(ctx context.Context, p *probe) error {
	if p.harness.Snapshot == nil {
		return nil
	}
	kept, made := p.key("kept"), p.key("made-since")
	if _, err := p.put(ctx, p.a, kept, []byte("backed up")); err != nil {
		return err
	}
	restore, err := p.harness.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	seen := make(map[string]map[store.Version]bool)
	for round := range 4 {
		for i := range 5 {
			for _, key := range []string{kept, made} {
				version, err := p.put(ctx, p.a, key, fmt.Appendf(nil, "value %d", i))
				if err != nil {
					return err
				}
				if seen[key] == nil {
					seen[key] = make(map[store.Version]bool)
				}
				if seen[key][version] {
					return fmt.Errorf("after %d rollbacks swap returns version %q of %q again", round, version, key)
				}
				seen[key][version] = true
			}
		}
		if err := restore(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return nil
}

func conflictFinal(ctx context.Context, p *probe) error {
	key := p.key("register")
	first, err := p.put(ctx, p.a, key, []byte("first"))
	if err != nil {
		return err
	}
	current, err := p.swap(ctx, p.a, key, first, []byte("second"))
	if err != nil {
		return fmt.Errorf("swap under the current version: %w", err)
	}
	// Whether the swap is refused is another rule's matter.
	lost := []byte("reported as a conflict")
	if _, err := p.b.Swap(ctx, key, first, lost); !errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err := p.awaitBoth(ctx, key, current, []byte("second")); err != nil {
		return fmt.Errorf("after a conflict: %w", err)
	}
	// Nor may it take effect once its time seems to have come.
	current, err = p.swap(ctx, p.a, key, current, []byte("first"))
	if err != nil {
		return fmt.Errorf("swap under the current version, after a conflict: %w", err)
	}
	for range looks {
		e, err := p.get(ctx, p.b, key)
		if err != nil {
			return fmt.Errorf("get %q: %w", key, err)
		}
		if string(e.Value) == string(lost) {
			return errors.New("a swap that was reported as a conflict took effect later")
		}
	}
	return p.awaitBoth(ctx, key, current, []byte("first"))
}
