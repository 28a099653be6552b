package natsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// of is the config of the store at an address.
func of(address string, settings ...func(*Config)) Config {
	c := Config{Endpoints: []string{address}, Loss: time.Second}
	for _, set := range settings {
		set(&c)
	}
	return c
}

func open(t *testing.T, c Config) *Store {
	t.Helper()
	return servertest.Opened(t, Open, c)
}

// opened starts a server, and opens a store on it.
func opened(t *testing.T, settings ...string) (*Store, *testkit.Server) {
	t.Helper()
	server := testkit.NATS(t, settings...)
	return open(t, of(server.Addr())), server
}

// reached waits until stores can read.
func reached(t *testing.T, stores ...store.Store) {
	t.Helper()
	for _, s := range stores {
		testkit.Eventually(t, func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err })
	}
}

// raw is a client of the server that knows nothing of stores.
func raw(t *testing.T, address string, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect("nats://"+address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// folderOf is the server's folder of stored data.
func folderOf(s *testkit.Server) string { return filepath.Join(s.Dir, "jetstream") }

// copyFolder replaces to by a copy of from.
func copyFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// TestSwapIsSentOnceWhateverBecomesOfIt counts the publishes that reach the server when no answer comes
// in time, and when a publish stays untaken.
func TestSwapIsSentOnceWhateverBecomesOfIt(t *testing.T) {
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, of(proxy.Addr()))
	js := raw(t, server.Addr())
	servertest.Swap(t, s, "key", "", "0")
	if current(s).conn.Opts.AllowReconnect {
		t.Error("the client reconnects beneath a swap: it sends its buffer to another server than the one whose answer it rests on")
	}

	var sent atomic.Int64
	conn := js.Conn()
	watch, err := conn.Subscribe("$KV.>", func(*nats.Msg) { sent.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	count := func() int64 {
		t.Helper()
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		return sent.Swap(0)
	}
	count()

	proxy.LoseReplies()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err = s.publish(short, current(s), "key", 0, []byte("never answered")) // Swap would wait for what it reads first
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an answer that does not come in time is reported as %v", err)
	}
	if n := count(); n != 1 {
		t.Errorf("a swap that was not answered was sent %d times", n)
	}
	proxy.Heal()
	reached(t, s)

	// Without its stream a publish stays unanswered: the client's default is to
	// send it again, twice.
	if err := js.DeleteStream(t.Context(), s.config.stream()); err != nil {
		t.Fatal(err)
	}
	if err := watch.Unsubscribe(); err != nil { // or it would be taken
		t.Fatal(err)
	}
	count()
	var passed atomic.Int64
	proxy.LoseReplyTo(func(request []byte) bool {
		passed.Store(int64(bytes.Count(request, []byte("nobody takes it"))))
		return false
	})
	// Swap itself would find that the bucket is gone.
	if _, err := s.publish(t.Context(), current(s), "other", 0, []byte("nobody takes it")); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("a swap that nobody takes is reported as %v", err)
	}
	if n := passed.Load(); n != 1 {
		t.Errorf("a swap that nobody takes was sent %d times", n)
	}
}

// TestNumberThatCameBackIsNotTakenForItsVersion rolls the server back and lets
// another client write until the register has the number of the version that
// the first one holds. The server alone would take it.
func TestNumberThatCameBackIsNotTakenForItsVersion(t *testing.T) {
	server := testkit.NATS(t)
	s, other := open(t, of(server.Addr())), open(t, of(server.Addr()))
	before := servertest.Swap(t, s, "key", "", "before")
	server.Stop()
	backup := filepath.Join(t.TempDir(), "jetstream")
	if err := copyFolder(folderOf(server), backup); err != nil {
		t.Fatal(err)
	}
	server.Start()
	reached(t, s, other)
	forgotten := servertest.Swap(t, s, "key", before, "forgotten")

	server.Kill()
	if err := copyFolder(backup, folderOf(server)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	reached(t, other)
	if _, err := s.Swap(t.Context(), "key", forgotten, []byte("late")); !errors.Is(err, store.ErrConflict) {
		// The first call may find its connection broken.
		if _, err = s.Swap(t.Context(), "key", forgotten, []byte("late")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap under a version that was rolled back: %v", err)
		}
	}
	theirs := servertest.Swap(t, other, "key", before, "theirs")
	mine, _ := numberOf(forgotten)
	if number, _ := numberOf(theirs); number != mine {
		t.Fatalf("the number did not come back: %q, %q", forgotten, theirs)
	}
	if _, err := s.Swap(t.Context(), "key", forgotten, []byte("mine")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a swap under a number that came back: %v, want ErrConflict", err)
	}
	if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "theirs" {
		t.Errorf("the register is %+v, %v", e, err)
	}
	// The server itself does take it.
	_, err := raw(t, server.Addr()).Publish(t.Context(), s.config.subject()+"key", nil, jetstream.WithExpectLastSequencePerSubject(mine))
	if err != nil {
		t.Errorf("the server compares more than numbers: %v; then reading before each swap is needless", err)
	}
}

func TestOpenClientSurvivesBrokenConnections(t *testing.T) {
	t.Parallel()
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	// The first endpoint never answers.
	s := open(t, of(proxy.Addr(), func(c *Config) {
		c.Endpoints = append([]string{fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))}, c.Endpoints...)
	}))
	version := servertest.Swap(t, s, "key", "", "value")
	survives := func(what string) {
		t.Helper()
		testkit.Eventually(t, func(context.Context) error {
			e, err := s.Get(t.Context(), "key")
			if err == nil && e.Version != version {
				t.Fatalf("after %s the register is %+v", what, e)
			}
			return err
		})
		version = servertest.Swap(t, s, "key", version, what)
	}
	proxy.ResetAll()
	survives("a reset")
	proxy.Cut()
	if _, err := s.Get(t.Context(), "key"); err == nil {
		t.Error("a server that is cut off answers")
	}
	proxy.Heal()
	survives("a cut")
	// A connection to a machine that is gone is not reset: pings show it.
	proxy.Drop()
	gone := current(s).conn
	testkit.Eventually(t, func(context.Context) error {
		if gone.IsConnected() {
			return errors.New("the connection is still taken for one")
		}
		return nil
	})
	proxy.Heal()
	survives("silence")
}

func TestServerRemembersNoListing(t *testing.T) {
	s, server := opened(t)
	for range 5 {
		if err := servertest.Listed(t.Context(), s, "", nil); err != nil {
			t.Error(err)
		}
	}
	stream, err := raw(t, server.Addr()).Stream(t.Context(), "KV_snowfence")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Consumers; n != 0 {
		t.Errorf("the server remembers %d listings", n)
	}
}

// current returns the session of a store that has one.
func current(s *Store) *session {
	session, _ := s.sessions.Value()
	return session
}
