//go:build servers

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

// bounded runs f under a context of the length given.
func bounded(t *testing.T, length time.Duration, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	return f(ctx)
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
	testkit.Eventually(t, func(ctx context.Context) error {
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
