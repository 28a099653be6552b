package sqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

// bounded runs f under a context of the length given, and fails the test if it
// takes long to return after that.
func bounded(t *testing.T, length time.Duration, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	begun := time.Now()
	err := f(ctx)
	if late := time.Since(begun) - length; late > 2*time.Second {
		t.Errorf("a call returned %v after its context ended: %v", late, err)
	}
	return err
}

// patience is how long a server may take to be as it was.
const patience = 10 * time.Second

// swapIsNeverRepeated breaks connections all the time. A swap that was
// sent twice would meet its own first effect, and its sender, who is the only
// writer, a conflict.
func swapIsNeverRepeated(t *testing.T, s sqlServer, server *testkit.Server) {
	proxy := testkit.NewProxy(t, server.Addr())
	direct := s.client(t, s.url("table=repeated", server.Addr()))
	broken := s.client(t, s.url("table=repeated", proxy.Addr()))
	ctx, cancel := context.WithCancel(t.Context())
	var breaking sync.WaitGroup
	breaking.Go(func() {
		tick := time.NewTicker(23 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				proxy.ResetAll()
			case <-ctx.Done():
				return
			}
		}
	})
	defer breaking.Wait()
	defer cancel()

	var version store.Version
	var rounds, unknown, carriedOut int
	for round := 0; unknown < 40 && round < 10000; round++ {
		rounds++
		value := fmt.Sprint("round ", round)
		next, err := broken.Swap(ctx, "register", version, []byte(value))
		if errors.Is(err, store.ErrConflict) {
			t.Fatalf("round %d: a conflict of the only writer, %d unknown outcomes before", round, unknown)
		}
		if err == nil {
			version = next
			continue
		}
		unknown++
		e, err := direct.Get(ctx, "register")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		if string(e.Value) == value {
			carriedOut++
		}
		version = settled(t, direct, "register", e.Version)
	}
	t.Logf("%d of %d swaps had an unknown outcome, of which %d had been carried out at once", unknown, rounds, carriedOut)
	if unknown < 40 || unknown == rounds {
		t.Errorf("%d of %d connections broke in the middle of a swap", unknown, rounds)
	}
}

// settled swaps the register, so that what is still under way meets a newer
// version, and returns that.
func settled(t *testing.T, s store.Store, key string, version store.Version) store.Version {
	t.Helper()
	for {
		next, err := s.Swap(t.Context(), key, version, []byte("settled"))
		if err == nil {
			return next
		}
		if !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		e, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		version = e.Version
	}
}

func restartIsSurvived(t *testing.T, s sqlServer, server *testkit.Server) {
	client := s.client(t, s.url("table=restarted", server.Addr()))
	version, err := client.Swap(t.Context(), "register", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []func(){server.Kill, server.Stop} {
		stop()
		if err := bounded(t, 5*time.Second, func(ctx context.Context) error {
			_, err := client.Get(ctx, "register")
			return err
		}); err == nil {
			t.Error("a server that is gone answers")
		}
		server.Start()
		testkit.Eventually(t, patience, func(ctx context.Context) error {
			e, err := client.Get(ctx, "register")
			if err == nil && e.Version != version {
				t.Errorf("version is %q after a restart, want %q", e.Version, version)
			}
			return err
		})
		if version, err = client.Swap(t.Context(), "register", version, []byte("after")); err != nil {
			t.Fatalf("after a restart: %v", err)
		}
	}
}

func callsReturnWhileTheServerIsPaused(t *testing.T, s sqlServer, server *testkit.Server) {
	client := s.client(t, s.url("table=paused", server.Addr()))
	version, err := client.Swap(t.Context(), "register", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	calls := map[string]func(context.Context) error{
		"get":  func(ctx context.Context) error { _, err := client.Get(ctx, "register"); return err },
		"swap": func(ctx context.Context) error { _, err := client.Swap(ctx, "register", version, nil); return err },
		"list": func(ctx context.Context) error {
			for _, err := range client.List(ctx, "") {
				return err
			}
			return nil
		},
		"now": func(ctx context.Context) error { _, err := client.(store.Clock).Now(ctx); return err },
		"open": func(ctx context.Context) error {
			_, err := openstore.Open(ctx, s.url("table=paused", server.Addr()))
			return err
		},
	}
	for name, call := range calls {
		if err := bounded(t, 200*time.Millisecond, call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %v", name, err, context.DeadlineExceeded)
		}
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		begun := time.Now()
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
		if late := time.Since(begun); late > 2*time.Second {
			t.Errorf("%s returned after %v", name, late)
		}
		timer.Stop()
	}

	waiting := make(chan error)
	go func() {
		_, err := client.Get(context.Background(), "register")
		waiting <- err
	}()
	timer := time.NewTimer(100 * time.Millisecond)
	<-timer.C
	if err := client.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-waiting; !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call that waits when the store is closed: %v, want %v", err, store.ErrClosed)
	}
	server.Resume()
	again := s.client(t, s.url("table=paused", server.Addr()))
	testkit.Eventually(t, patience, func(ctx context.Context) error {
		_, err := again.Get(ctx, "register")
		return err
	})
}

// nextHostTakesOver makes the first of two servers refuse writes, as a
// primary does that was replaced.
func nextHostTakesOver(t *testing.T, s sqlServer, second *testkit.Server) {
	readOnly := map[string][]string{
		"postgres": {"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"},
		"mysql":    {"SET GLOBAL read_only = ON"},
	}
	first := s.start(t)
	gone := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	db := s.administer(t, first)
	onSecond := s.client(t, s.url("table=taken", second.Addr())) // makes the table, as replication would
	user := s.clerk(t, first, "CREATE")
	if other := s.clerk(t, second, "CREATE"); other != user {
		t.Fatalf("users differ: %s and %s", user, other)
	}
	client := s.client(t, s.urlOf(user, "table=taken", gone, first.Addr(), second.Addr()))
	version, err := client.Swap(t.Context(), "register", "", []byte("on the first"))
	if err != nil {
		t.Fatal(err)
	}
	reader := s.client(t, s.urlOf(user, "table=taken", gone, first.Addr(), second.Addr()))
	if e, err := reader.Get(t.Context(), "register"); err != nil || e.Version != version {
		t.Fatalf("the first server has %q (%v)", e.Value, err)
	}
	do(t, db, readOnly[s.scheme]...)
	if s.scheme == "mysql" {
		// One who only reads learns by being told so, and asks the next one.
		_, err := reader.Get(t.Context(), "register")
		if _, again := reader.Get(t.Context(), "register"); err == nil || !errors.Is(again, store.ErrNotFound) {
			t.Errorf("read from the first server: %v, then %v, want %v", err, again, store.ErrNotFound)
		}
	}
	// The client holds a connection to the first server still, and learns by
	// being refused.
	testkit.Eventually(t, patience, func(ctx context.Context) error {
		next, err := client.Swap(ctx, "register", version, []byte("on the first, too late"))
		if errors.Is(err, store.ErrConflict) {
			return nil // the second server has no such register
		}
		if err == nil {
			version = next
			err = errors.New("the first server still takes writes")
		}
		return err
	})
	if _, err := client.Swap(t.Context(), "register", "", []byte("on the second")); err != nil {
		t.Errorf("the second server does not take over: %v", err)
	}
	if e, err := onSecond.Get(t.Context(), "register"); err != nil || string(e.Value) != "on the second" {
		t.Errorf("the second server has %q (%v)", e.Value, err)
	}
}

// nextHostServesCallersWhoAreInAHurry makes the first of two hosts fall
// silent, for callers each of whom waits less long than a silent host is given.
func nextHostServesCallersWhoAreInAHurry(t *testing.T, s sqlServer, server *testkit.Server) {
	proxy := testkit.NewProxy(t, server.Addr())
	client := s.client(t, s.url("table=hurry", proxy.Addr(), server.Addr()))
	if _, err := client.Swap(t.Context(), "register", "", nil); err != nil {
		t.Fatal(err)
	}
	proxy.Drop()
	testkit.Eventually(t, patience, func(context.Context) error {
		return bounded(t, 500*time.Millisecond, func(ctx context.Context) error {
			_, err := client.Get(ctx, "register")
			return err
		})
	})
}

// swapThatRunsOutOfTimeIsNoConflict gives up a swap that waits for the lock of its
// row. Whether it takes effect is open, and remains so until the lock is free.
func swapThatRunsOutOfTimeIsNoConflict(t *testing.T, s sqlServer, server *testkit.Server) {
	client := s.client(t, s.url("table=locked", server.Addr()))
	before, err := client.Swap(t.Context(), "register", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.administer(t, server).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback() }()
	if _, err := lock.ExecContext(t.Context(), "SELECT * FROM locked FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if err := bounded(t, 200*time.Millisecond, func(ctx context.Context) error {
		_, err := client.Swap(ctx, "register", before, []byte("after"))
		return err
	}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrConflict) {
		t.Errorf("a swap that waits for a lock: %v, want %v", err, context.DeadlineExceeded)
	}
	if e, err := client.Get(t.Context(), "register"); err != nil || e.Version != before {
		t.Errorf("a swap that still waits is shown: %q (%v)", e.Value, err)
	}
}

// otherIsolationLevelWillDo uses the level that is the other server's default.
func otherIsolationLevelWillDo(t *testing.T, s sqlServer, server *testkit.Server) {
	statements := map[string][2]string{
		"postgres": {"ALTER DATABASE snowfence SET default_transaction_isolation = 'repeatable read'", "ALTER DATABASE snowfence RESET default_transaction_isolation"},
		"mysql":    {"SET GLOBAL tx_isolation = 'READ-COMMITTED'", "SET GLOBAL tx_isolation = DEFAULT"},
	}[s.scheme]
	db := s.administer(t, server)
	do(t, db, statements[0])
	storetest.Run(t, storetest.Harness{
		Open:  opens(s.url("table=isolated", server.Addr())),
		Flaky: s.scheme == "postgres", // a swap that comes second may fail instead of conflict
	})
	do(t, db, statements[1])
}
