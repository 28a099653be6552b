package zkstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/zkstore"
)

// ZooKeeper itself does that to a connection that comes while it starts.
func forgottenConnectionIsSoonReplaced(t *testing.T, server *testkit.Server, c zkstore.Config) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	proxy := testkit.NewProxy(t, listener.Addr().String())
	forgotten := make(chan net.Conn, 1)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			proxy.SetTarget(server.Addr())
			forgotten <- connection
		}
	}()
	c.Endpoints = []string{proxy.Addr()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s, err := zkstore.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), (<-forgotten).Close()); err != nil {
		t.Error(err)
	}
}

func expiredSessionIsReplaced(t *testing.T, server *testkit.Server, c zkstore.Config) {
	proxy := testkit.NewProxy(t, server.Addr())
	c.Endpoints = []string{proxy.Addr()}
	c.SessionTimeout = 500 * time.Millisecond
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "before")
	before := s.SessionID()
	// The server ends sessions a tick or two after their time, of 200 ms here.
	// Nothing shows that to others but that the session is refused when it comes
	// back; one that comes too early is cut off for longer.
	for pause := time.Second; s.SessionID() == before; pause *= 2 {
		if pause > 4*time.Second {
			t.Fatalf("session %x does not expire", before)
		}
		proxy.Cut()
		<-time.After(pause)
		proxy.Heal()
		version = servertest.Swap(t, s, "key", version, "after")
	}
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get: %+v, %v", e, err)
	}
}

func abandonedCallsAreBoundedAndPass(t *testing.T, server *testkit.Server, c zkstore.Config) {
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "before")
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	errs := make(chan error)
	const callers = 3 * zkstore.MostAbandoned
	for range callers {
		go func() {
			_, err := s.Get(ctx, "key")
			errs <- err
		}()
	}
	for range callers {
		if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("get from a server that hangs: %v", err)
		}
	}
	if n := s.Abandoned(); n == 0 || n > zkstore.MostAbandoned {
		t.Errorf("%d calls are abandoned, want 1 to %d", n, zkstore.MostAbandoned)
	}
	// The client gives a silent server up, and with it the awaited answers.
	testkit.Eventually(t, func(context.Context) error {
		if n := s.Abandoned(); n > 0 {
			return fmt.Errorf("%d calls are still abandoned", n)
		}
		return nil
	})
	server.Resume()
	servertest.Swap(t, s, "key", version, "after")
}

func swapThatFoundNoSessionIsNeverSent(t *testing.T, server *testkit.Server, c zkstore.Config) {
	proxy := testkit.NewProxy(t, server.Addr())
	c.Endpoints = []string{proxy.Addr()}
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "before")
	proxy.Cut()
	testkit.Eventually(t, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := s.Get(ctx, "key"); err == nil || !strings.Contains(err.Error(), "no session") {
			return fmt.Errorf("there is a session yet: %w", err)
		}
		return nil
	})
	for n := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := s.Swap(ctx, "key", version, []byte("too late")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("swap number %d without a session: %v", n, err)
		}
		cancel()
	}
	proxy.Heal()
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("a swap whose context had ended took effect: %+v, %v", e, err)
	}
}

// The first create finds the folder missing; the reply to the second is lost. ZooKeeper counts the writes
// of a node: a create that was sent again would show in the suite's rules for swaps, and here.
func createIsSentOnceThoughItsReplyIsLost(t *testing.T, server *testkit.Server, c zkstore.Config) {
	proxy := testkit.NewProxy(t, server.Addr())
	c.Endpoints = []string{proxy.Addr()}
	s := open(t, c)
	lost := proxy.LoseReplyTo(func(sent []byte) bool { return bytes.Count(sent, []byte("snowfence 1 ")) == 2 })
	if _, err := s.Swap(t.Context(), "key", "", []byte("0")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Fatalf("create whose reply was lost: %v", err)
	}
	<-lost
	other := raw(t, server.Addr())
	if _, stat, err := other.Get(find(t, other, c.Prefix, "key")); err != nil || stat.Version != 0 {
		t.Errorf("the node was changed %d times, %v", stat.Version, err)
	}
	if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "0" {
		t.Errorf("get: %+v, %v", e, err)
	}
}

func TestSwapsGoOnAfterTheLeaderWasKilled(t *testing.T) {
	t.Parallel()
	servers := testkit.ZooKeeperEnsemble(t, 3)
	var c zkstore.Config
	for _, server := range servers {
		c.Endpoints = append(c.Endpoints, server.Addr())
	}
	c.SessionTimeout = sessionTimeout
	releaseIsJudged(t, c)
	c.Loss = time.Second // whatever the release
	one, other := open(t, c), open(t, c)
	version := servertest.Swap(t, one, "key", "", "0")
	var acknowledged []string
	for n := range 3 {
		value := fmt.Sprint(n + 1)
		if n == 1 {
			testkit.ZooKeeperLeader(t, servers).Kill()
		}
		version = servertest.Persist(t, one, "key", version, value)
		acknowledged = append(acknowledged, value)
		// A sync makes any server show acknowledged writes.
		testkit.Eventually(t, func(ctx context.Context) error {
			e, err := other.Get(ctx, "key")
			if err == nil && (e.Version != version || string(e.Value) != value) {
				t.Fatalf("the other client reads %q, after %v were acknowledged", e.Value, acknowledged)
			}
			return err
		})
	}
}

// releaseIsJudged looks at the release of ZooKeeper that is installed, as members
// of an ensemble report it.
func releaseIsJudged(t *testing.T, c zkstore.Config) {
	t.Helper()
	said := ""
	for _, endpoint := range c.Endpoints {
		// A member that has just joined may not serve yet.
		testkit.Eventually(t, func(ctx context.Context) (err error) {
			if said, err = testkit.ZooKeeperWord(ctx, endpoint, "srvr"); err == nil && !strings.HasPrefix(said, "Zookeeper version: ") {
				err = errors.New(said)
			}
			return err
		})
	}
	s, err := zkstore.Open(t.Context(), c)
	if bad := strings.HasPrefix(said, "Zookeeper version: 3.9.3"); bad != (err != nil) {
		t.Fatalf("%q: %v", said, err)
	}
	if err != nil {
		return
	}
	if old := strings.HasPrefix(said, "Zookeeper version: 3.8."); old != (len(s.Warnings()) > 0) {
		t.Errorf("%q: warnings %q", said, s.Warnings())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
