package redisstore_test

import (
	"errors"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

// The client library leaves the commands of a pipeline without an error when
// the connection that they were for was refused by the server.
func TestServerThatRefusesToLetUsInIsNoDamage(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{proxy.Addr()}, Password: "before"})
	version := swap(t, s, "key", "", "value")
	if _, err := testkit.RedisCall(t.Context(), server.Addr(), "CONFIG SET requirepass after"); err != nil {
		t.Fatal(err)
	}
	proxy.ResetAll()
	for _, key := range []string{"key", "absent"} {
		if e, err := s.Get(t.Context(), key); err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q: %+v, %v", key, e, err)
		}
		// Again, because the first may have met a connection that was reset.
		if e, err := s.Get(t.Context(), key); err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q again: %+v, %v", key, e, err)
		}
	}
	if _, err := s.Swap(t.Context(), "key", version, nil); err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap: %v", err)
	}
	for e, err := range s.List(t.Context(), "") {
		if err == nil || errors.Is(err, store.ErrDamaged) {
			t.Errorf("list: %+v, %v", e, err)
		}
	}
}
