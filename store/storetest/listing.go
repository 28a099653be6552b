package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/store"
)

// make creates registers, each with its key as its value, and returns them as
// List must yield them.
func (p *probe) make(ctx context.Context, keys ...string) (map[string]store.Entry, error) {
	made := make(map[string]store.Entry)
	for i, key := range keys {
		s := p.a
		if i%2 == 1 {
			s = p.b
		}
		version, err := p.put(ctx, s, key, []byte(key))
		if err != nil {
			return nil, err
		}
		made[key] = store.Entry{Key: key, Value: []byte(key), Version: version}
	}
	return made, nil
}

func listPrefix(ctx context.Context, p *probe) error {
	names := []string{"a", "aa", "ab", "abc", "a/b", "a/bc", "a/b/c", "a-b", "a_b", "axb", "a.b", "b", "ba", "b/a", "c/a/b", "z"}
	var keys []string
	for _, name := range names {
		keys = append(keys, p.key(name))
	}
	made, err := p.make(ctx, keys...)
	if err != nil {
		return err
	}
	// "_" and "." are signs that some query languages give a meaning to; "a/b"
	// must not stop at a slash; "/" and "b/a" begin no key, but stand in some.
	for _, name := range append(names, "", "a_", "a.", "a-", "a/", "abcd", "a/b/", "c", "c/", "/", "y", "zz") {
		prefix := p.key(name)
		want := make(map[string]store.Entry)
		for key, e := range made {
			if strings.HasPrefix(key, prefix) {
				want[key] = e
			}
		}
		if err := p.awaitList(ctx, p.b, prefix, want); err != nil {
			return err
		}
	}
	// What stands in the middle of a key is no prefix of it.
	inside := p.prefix[1:] + "a"
	found, err := p.list(ctx, p.a, inside)
	if err != nil {
		return err
	}
	for key := range found {
		if !strings.HasPrefix(key, inside) {
			return fmt.Errorf("list %q yields %q", inside, key)
		}
	}
	// The empty prefix is that of all.
	var missing error
	ended := p.poll(ctx, func() bool {
		missing = nil
		all, err := p.list(ctx, p.a, "")
		for key := range made {
			if _, ok := all[key]; !ok {
				missing = errors.Join(err, fmt.Errorf(`list "" does not yield %q`, key))
			}
		}
		return missing == nil
	})
	if ended == nil {
		return nil
	}
	return missing
}

// many is more than any page that an engine may read at once without thinking.
const many = 150

func listComplete(ctx context.Context, p *probe) error {
	keys := make([]string, many)
	for i := range keys {
		keys[i] = p.key(fmt.Sprintf("%06d", i*7919%many))
	}
	made, err := p.make(ctx, keys...)
	if err != nil {
		return err
	}
	if err := p.awaitList(ctx, p.a, p.prefix, made); err != nil {
		return err
	}
	return p.awaitList(ctx, p.b, p.prefix, made)
}

func listExisting(ctx context.Context, p *probe) error {
	made, err := p.make(ctx, p.key("real"))
	if err != nil {
		return err
	}
	// Reads of missing keys, swaps that are refused: none of them makes one.
	if _, err := p.get(ctx, p.a, p.key("looked-for")); !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("get of a missing key: %v, want ErrNotFound", err)
	}
	version := made[p.key("real")].Version
	if _, err := p.a.Swap(ctx, p.key("guarded"), version, []byte("no")); err == nil {
		return nil // that is another rule's matter
	}
	for _, s := range []store.Store{p.a, p.b} {
		if err := p.awaitList(ctx, s, p.prefix, made); err != nil {
			return err
		}
	}
	return nil
}

func listRange(ctx context.Context, p *probe) error {
	made, err := p.make(ctx, p.key("1"), p.key("2"), p.key("3"), p.key("4"))
	if err != nil {
		return err
	}
	if err := p.awaitList(ctx, p.a, p.prefix, made); err != nil {
		return err
	}
	sequence := p.a.List(ctx, p.prefix)
	for _, err := range sequence {
		if err != nil && !p.harness.Flaky {
			return fmt.Errorf("list: %w", err)
		}
		break
	}
	var failure error
	ended := p.poll(ctx, func() bool {
		failure = nil
		seen := 0
		for e, err := range sequence {
			if err == nil {
				_, err = p.get(ctx, p.a, e.Key)
			}
			if err != nil {
				failure = fmt.Errorf("list again, and get inside the range: %w", err)
				return false
			}
			seen++
		}
		if seen != len(made) {
			failure = fmt.Errorf("ranging over the sequence again yields %d of %d registers", seen, len(made))
		}
		return failure == nil
	})
	if ended != nil || failure != nil {
		return failure
	}
	for e, err := range sequence {
		if err != nil {
			if p.harness.Flaky {
				break
			}
			return fmt.Errorf("list again: %w", err)
		}
		if _, err := p.swap(ctx, p.a, e.Key, made[e.Key].Version, []byte("inside the range "+e.Key)); err != nil {
			return fmt.Errorf("swap inside the range: %w", err)
		}
	}
	return nil
}
