package storetest

import (
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/store"
)

// make creates registers, each with its key as its value, and returns them as
// List must yield them.
func (p *probe) make(names ...string) map[string]store.Entry {
	made := make(map[string]store.Entry)
	for i, name := range names {
		key := p.key(name)
		made[key] = store.Entry{Key: key, Value: []byte(key), Version: p.put(p.turn(i), key, []byte(key))}
	}
	return made
}

func listPrefix(p *probe) {
	names := []string{"a", "aa", "ab", "abc", "a/b", "a/bc", "a/b/c", "a-b", "a_b", "axb", "a.b", "b", "ba", "b/a", "c/a/b", "z"}
	made := p.make(names...)
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
		p.awaitList(p.b, prefix, want)
	}
	// The middle of a key is not a prefix of it.
	inside := p.prefix[1:] + "a"
	found, err := p.list(p.a, inside)
	p.must(err, "look for the inside of keys")
	for key := range found {
		if !strings.HasPrefix(key, inside) {
			p.failf("list %q yields %q", inside, key)
		}
	}
	// The empty prefix is that of all.
	var missing error
	if p.poll(func() bool {
		missing = nil
		all, err := p.list(p.a, "")
		for key := range made {
			if _, ok := all[key]; !ok {
				missing = errors.Join(err, fmt.Errorf("%q is not among them", key))
			}
		}
		return missing == nil
	}) != nil {
		p.must(missing, "list all")
	}
}

// many is more than any page that an engine may read at once without thinking.
const many = 150

func listComplete(p *probe) {
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("%06d", i*7919%many)
	}
	made := p.make(names...)
	p.awaitList(p.a, p.prefix, made)
	p.awaitList(p.b, p.prefix, made)
}

func listExisting(p *probe) {
	made := p.make("real")
	// Reads of missing keys, swaps that are refused: none of them makes one.
	if _, err := p.get(p.a, p.key("looked-for")); !errors.Is(err, store.ErrNotFound) {
		p.failf("get of a missing key: %v, want ErrNotFound", err)
	}
	if _, err := p.a.Swap(p.ctx, p.key("guarded"), made[p.key("real")].Version, []byte("no")); err == nil {
		return // that is another rule's matter
	}
	p.awaitList(p.a, p.prefix, made)
	p.awaitList(p.b, p.prefix, made)
}

func listRange(p *probe) {
	made := p.make("1", "2", "3", "4")
	p.awaitList(p.a, p.prefix, made)
	sequence := p.a.List(p.ctx, p.prefix)
	for _, err := range sequence {
		if !p.harness.Flaky {
			p.must(err, "list")
		}
		break
	}
	var failure error
	if p.poll(func() bool {
		failure = nil
		seen := 0
		for e, err := range sequence {
			if err == nil {
				_, err = p.get(p.a, e.Key)
			}
			if err != nil {
				failure = err
				return false
			}
			seen++
		}
		if seen != len(made) {
			failure = fmt.Errorf("it yields %d of %d registers", seen, len(made))
		}
		return failure == nil
	}) != nil {
		p.must(failure, "range again, and get inside the range")
	}
	for e, err := range sequence {
		if err != nil && p.harness.Flaky {
			break
		}
		p.must(err, "list again")
		_, err := p.swap(p.a, e.Key, made[e.Key].Version, []byte("inside the range "+e.Key))
		p.must(err, "swap inside the range")
	}
}
