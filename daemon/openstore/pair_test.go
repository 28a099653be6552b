//go:build servers

package openstore

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestFailoverOfAPairTakesTheLastWritesAndNoOthers is about the servers that the chaos test fails
// over: there and back again, and once it is called off.
func TestFailoverOfAPairTakesTheLastWritesAndNoOthers(t *testing.T) {
	for _, name := range testkit.PairNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, pair := testkit.StartPair(t, name)
			at := func(use func(store.Store)) {
				t.Helper()
				s, err := Open(t.Context(), engine.URL(pair.Primary.Addr(), time.Second))
				if err != nil {
					t.Fatal(err)
				}
				use(s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			write := func(key string) func(store.Store) {
				return func(s store.Store) {
					if _, err := s.Swap(t.Context(), key, "", []byte("value")); err != nil {
						t.Fatalf("swap %s: %v", key, err)
					}
				}
			}
			fails := func(lost string, then func() error) {
				t.Helper()
				at(func(s store.Store) {
					if since, err := pair.Part(t.Context()); err != nil || time.Since(since) > time.Minute {
						t.Fatal(since, err)
					}
					write(lost)(s)
				})
				pair.Primary.Kill()
				if err := then(); err != nil {
					t.Fatal(err)
				}
			}
			promote := func() error { return errors.Join(pair.Promote(t.Context()), pair.Rejoin()) }
			has := func(key string, want error) {
				t.Helper()
				at(func(s store.Store) {
					if _, err := s.Get(t.Context(), key); !errors.Is(err, want) {
						t.Errorf("get %s: %v, want %v", key, err, want)
					}
				})
			}
			first := pair.Primary
			at(write("one"))
			fails("two", pair.Mend)
			has("two", nil)
			fails("three", promote)
			if pair.Primary == first || pair.Standby != first {
				t.Error("the servers have not taken each other's place")
			}
			has("three", store.ErrNotFound)
			at(write("four"))
			fails("five", promote)
			for key, want := range map[string]error{"one": nil, "two": nil, "three": store.ErrNotFound, "four": nil, "five": store.ErrNotFound} {
				has(key, want)
			}
		})
	}
}
