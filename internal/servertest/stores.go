package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

// external holds a server that is not ours to the conformance suite.
func external(t *testing.T, e Engine, address string) {
	t.Helper()
	storetest.Run(t, storetest.Harness{Open: func(ctx context.Context) (store.Store, error) {
		return e.Open(ctx, e.URL(Place{Addresses: []string{address}}))
	}})
}

func conformance(t *testing.T, b bed) {
	proxy := testkit.NewProxy(t, b.server.Addr())
	if b.Prepare != nil {
		b.Prepare(t, b.server, b.prefix)
	}
	harness := storetest.Harness{
		Open: func(ctx context.Context) (store.Store, error) { return b.Open(ctx, b.URL(b.at())) },
		Restart: func(context.Context) error {
			b.server.Kill()
			return b.server.TryStart()
		},
		OpenLossy: func(ctx context.Context) (store.Store, func(), error) {
			s, err := b.warm(ctx, b.at(proxy.Addr()))
			// The suite's values name the round, and only swaps hold them.
			return s, func() {
				proxy.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte(b.wire("round "))) })
			}, err
		},
		Timeout: limit,
	}
	if b.Snapshot != nil {
		harness.Snapshot = b.Snapshot(t, b.server)
	}
	storetest.Run(t, harness)
}

// All faults at once: each alone is for stores in memory.
func conformanceUnderFaults(t *testing.T, b bed) {
	p := b.at()
	p.Prefix += "faults"
	open := func(ctx context.Context) (store.Store, error) { return b.Open(ctx, b.URL(p)) }
	for name, harness := range storetest.Faulty(storetest.Harness{Open: open, Timeout: limit}) {
		if name == "all" {
			storetest.Run(t, harness)
		}
	}
}

func prefixesDoNotSeeEachOther(t *testing.T, b bed) {
	keys := []string{"b", "ab", "a/b", "index", "register", "index/a"}
	stores := make([]store.Store, len(b.Apart))
	versions := map[store.Version]bool{}
	for i, p := range b.Apart {
		p.Addresses = b.at().Addresses
		stores[i] = b.open(t, p)
		for _, key := range keys {
			versions[Swap(t, stores[i], key, "", fmt.Sprint(i))] = true
		}
	}
	if len(versions) != len(stores)*len(keys) {
		t.Errorf("%d different versions of %d registers", len(versions), len(stores)*len(keys))
	}
	for i, s := range stores {
		found := 0
		err := Listed(t.Context(), s, "", func(e store.Entry) {
			if found++; string(e.Value) != fmt.Sprint(i) {
				t.Errorf("%+v lists %q of %+v", b.Apart[i], e.Key, e)
			}
		})
		if err != nil || found != len(keys) {
			t.Errorf("%+v lists %d registers, %v", b.Apart[i], found, err)
		}
	}
}

func readerWritesNothing(t *testing.T, b bed) {
	before := b.Content(t, b.server)
	s := b.open(t, b.at())
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if err := Listed(t.Context(), s, "", func(e store.Entry) { t.Errorf("list: %+v", e) }); err != nil {
		t.Error(err)
	}
	if after := b.Content(t, b.server); after != before {
		t.Errorf("the server has %s, and had %s", after, before)
	}
}

func storeThatMustExistIsNotMade(t *testing.T, b bed) {
	u := b.URL(b.at())
	for range 2 { // the first attempt made none
		if s, err := b.OpenExisting(t.Context(), u); err == nil {
			t.Error(errors.Join(errors.New("opened"), s.Close()))
		} else if !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), b.prefix) {
			t.Errorf("%v, want %v", err, store.ErrNoStore)
		}
	}
	version := Swap(t, b.open(t, b.at()), "key", "", "value")
	s, err := b.OpenExisting(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("a store that exists: %+v, %v", e, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func whatOthersWroteIsDamage(t *testing.T, b bed) {
	number := 0
	for name, spoil := range b.Damage {
		p := b.at()
		p.Prefix += string(rune('a' + number))
		number++
		t.Run(name, func(t *testing.T) {
			s := b.open(t, p)
			version := Swap(t, s, "key", "", "value")
			spoil(t, b.server, p.Prefix, "key")
			if e, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("get: %+v, %v", e, err)
			}
			for _, prev := range []store.Version{"", version} {
				if _, err := s.Swap(t.Context(), "key", prev, nil); !errors.Is(err, b.Spoiled) {
					t.Errorf("swap under %q: %v, want %v", prev, err, b.Spoiled)
				}
			}
			if err := Listed(t.Context(), s, "", nil); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("list: %v", err)
			}
		})
	}
}

func storeClaimsWhatItsOperatorAsserts(t *testing.T, b bed) {
	for query, want := range b.Traits {
		p := b.at()
		p.Query = query
		if got, err := b.open(t, p).Traits(t.Context()); err != nil || got != want || got.Validate() != nil {
			t.Errorf("%q: %+v, %v, want %+v", query, got, err, want)
		}
	}
}
