package servertest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// Opened opens a store by an engine's Open, until the end of the test.
func Opened[C any, S store.Store](t testing.TB, open func(context.Context, C) (S, error), config C) S {
	t.Helper()
	s, err := open(t.Context(), config)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Refusal returns the error of Open for a config that it must refuse.
func Refusal[C any, S store.Store](t testing.TB, open func(context.Context, C) (S, error), config C) error {
	t.Helper()
	s, err := open(t.Context(), config)
	if err == nil {
		t.Errorf("opened: %v", s.Close())
	}
	return err
}

// Swap swaps a register, which has to take effect.
func Swap(t testing.TB, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
}

// Listed lists the registers below a prefix, shows each to see, unless that is nil, and returns the last error.
func Listed(ctx context.Context, s store.Store, prefix string, see func(store.Entry)) (last error) {
	for e, err := range s.List(ctx, prefix) {
		if last = err; err == nil && see != nil {
			see(e)
		}
	}
	return last
}

// Persist swaps until the swap is acknowledged, in the manner of a careful user: an unknown outcome
// is looked up. Each attempt has little time, so that it meets a server that is silent no longer
// than a caller in a hurry does. The value must be new.
func Persist(t *testing.T, s store.Store, key string, version store.Version, value string) store.Version {
	t.Helper()
	testkit.Eventually(t, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*patience)
		defer cancel()
		next, err := s.Swap(ctx, key, version, []byte(value))
		if err == nil {
			version = next
			return nil
		}
		e, readErr := s.Get(ctx, key)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		version = e.Version // an earlier swap may have taken effect
		if string(e.Value) == value {
			return nil
		}
		return err
	})
	return version
}

// SwapOfALeaderAlone pauses all servers but the leader, by which a swap is sent. When the leader has
// taken it, the leader must show the value from before.
func SwapOfALeaderAlone(t *testing.T, s store.Store, servers []*testkit.Server, leader *testkit.Server, taken func(context.Context) error, shown func() (string, error)) {
	t.Helper()
	version := Swap(t, s, "key", "", "before")
	for _, server := range servers {
		if server != leader {
			server.Pause()
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	swapped := make(chan error, 1)
	go func() {
		_, err := s.Swap(ctx, "key", version, []byte("after"))
		swapped <- err
	}()
	testkit.Eventually(t, taken)
	if text, err := shown(); err != nil || !strings.HasSuffix(text, "\nbefore") {
		t.Errorf("the leader shows %q, %v", text, err)
	}
	select {
	case err := <-swapped:
		t.Fatalf("the swap ended before it was given up: %v", err)
	default:
	}
	giveUp()
	if err := <-swapped; !errors.Is(err, context.Canceled) {
		t.Errorf("swap without a majority: %v", err)
	}
}
