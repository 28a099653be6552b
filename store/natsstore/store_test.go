package natsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
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
	s, err := Open(t.Context(), c)
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

func swap(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
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

// folderOf is where the server keeps what it stores.
func folderOf(s *testkit.Server) string { return filepath.Join(s.Dir, "jetstream") }

// copyFolder replaces to by a copy of from.
func copyFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

func TestConformance(t *testing.T) {
	if address, ok := testkit.External("NATS"); ok {
		storetest.Run(t, storetest.Harness{
			Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, of(address)) },
		})
		return
	}
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	harness := storetest.Harness{
		Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, of(server.Addr())) },
		Restart: func(context.Context) error {
			server.Kill()
			return server.TryStart()
		},
		// A rollback is outside what package store can ask of NATS. This engine
		// compares tokens all the same.
		Snapshot: func(context.Context) (func(context.Context) error, error) {
			backup := filepath.Join(t.TempDir(), "jetstream")
			server.Kill()
			if err := copyFolder(folderOf(server), backup); err != nil {
				return nil, err
			}
			restore := func(context.Context) error {
				server.Kill()
				if err := copyFolder(backup, folderOf(server)); err != nil {
					return err
				}
				return server.TryStart()
			}
			return restore, server.TryStart()
		},
		OpenLossy: func(ctx context.Context) (store.Store, func(), error) {
			s, err := Open(ctx, of(proxy.Addr()))
			if err != nil {
				return nil, nil, err
			}
			return s, func() { proxy.LoseReplyTo(isSwap) }, nil
		},
	}
	t.Run("bare", func(t *testing.T) { storetest.Run(t, harness) })
	t.Run("faulty", func(t *testing.T) { storetest.RunFaulty(t, harness) })
}

// isSwap reports whether a request publishes a register.
func isSwap(request []byte) bool { return bytes.Contains(request, []byte(markHeader+": ")) }

// TestSwapIsSentOnceWhateverBecomesOfIt counts what reaches the server, by
// losing the replies, by having nobody to take a publish, and by breaking the
// connection.
func TestSwapIsSentOnceWhateverBecomesOfIt(t *testing.T) {
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, of(proxy.Addr()))
	js := raw(t, server.Addr())
	version := swap(t, s, "key", "", "0")
	if current(s).conn.Opts.AllowReconnect {
		t.Error("the client reconnects beneath a swap: it sends what it has buffered to a server that did not give the answer it rests on")
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

	lost := proxy.LoseReplyTo(isSwap)
	if _, err := s.Swap(t.Context(), "key", version, []byte("1")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("a lost reply is reported as %v", err)
	}
	<-lost
	if n := count(); n != 1 {
		t.Errorf("a swap whose reply was lost was sent %d times", n)
	}
	entry, err := s.Get(t.Context(), "key")
	if err != nil || string(entry.Value) != "1" {
		t.Fatalf("afterwards: %+v, %v", entry, err)
	}

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
	testkit.Eventually(t, 5*time.Second, func(context.Context) error {
		_, err := s.Get(t.Context(), "key")
		return err
	})

	// Without its stream nobody answers a publish: the client's default is to
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
	before := swap(t, s, "key", "", "before")
	server.Stop()
	backup := filepath.Join(t.TempDir(), "jetstream")
	if err := copyFolder(folderOf(server), backup); err != nil {
		t.Fatal(err)
	}
	server.Start()
	testkit.Eventually(t, 5*time.Second, func(context.Context) error { _, err := s.Get(t.Context(), "key"); return err })
	testkit.Eventually(t, 5*time.Second, func(context.Context) error { _, err := other.Get(t.Context(), "key"); return err })
	forgotten := swap(t, s, "key", before, "forgotten")

	server.Kill()
	if err := copyFolder(backup, folderOf(server)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	testkit.Eventually(t, 5*time.Second, func(context.Context) error { _, err := other.Get(t.Context(), "key"); return err })
	if _, err := s.Swap(t.Context(), "key", forgotten, []byte("late")); !errors.Is(err, store.ErrConflict) {
		// The first call may find its connection broken.
		if _, err = s.Swap(t.Context(), "key", forgotten, []byte("late")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap under a version that was rolled back: %v", err)
		}
	}
	theirs := swap(t, other, "key", before, "theirs")
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

func TestOpenClientSurvivesRestartsAndBrokenConnections(t *testing.T) {
	t.Parallel()
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	// The first endpoint never answers.
	s := open(t, of(proxy.Addr(), func(c *Config) {
		c.Endpoints = append([]string{fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))}, c.Endpoints...)
	}))
	version := swap(t, s, "key", "", "value")
	survives := func(what string) {
		t.Helper()
		testkit.Eventually(t, 10*time.Second, func(context.Context) error {
			e, err := s.Get(t.Context(), "key")
			if err == nil && e.Version != version {
				t.Fatalf("after %s the register is %+v", what, e)
			}
			return err
		})
		version = swap(t, s, "key", version, what)
	}
	server.Kill()
	if _, err := s.Get(t.Context(), "key"); err == nil {
		t.Error("a server that is gone answers")
	}
	server.Start()
	survives("a kill")
	server.Stop()
	server.Start()
	survives("a stop")
	proxy.ResetAll()
	survives("a reset")
	proxy.Cut()
	if _, err := s.Get(t.Context(), "key"); err == nil {
		t.Error("a server that is cut off answers")
	}
	proxy.Heal()
	survives("a cut")
	// Nobody resets a connection to a machine that is gone: pings tell.
	proxy.Drop()
	gone := current(s).conn
	testkit.Eventually(t, 10*time.Second, func(context.Context) error {
		if gone.IsConnected() {
			return errors.New("the connection is still taken for one")
		}
		return nil
	})
	proxy.Heal()
	survives("silence")
}

func TestCallsReturnSoonWhenTheServerStandsStill(t *testing.T) {
	server := testkit.NATS(t)
	s := open(t, of(server.Addr()))
	version := swap(t, s, "key", "", "value")
	server.Pause()
	defer server.Resume()
	calls := map[string]func(context.Context) error{
		"get":  func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"swap": func(ctx context.Context) error { _, err := s.Swap(ctx, "key", version, nil); return err },
		"list": func(ctx context.Context) error {
			for _, err := range s.List(ctx, "") {
				return err
			}
			return nil
		},
		"open": func(ctx context.Context) error { _, err := Open(ctx, of(server.Addr())); return err },
	}
	var group sync.WaitGroup
	for name, call := range calls {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			begun := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
	group.Wait()

	// Close ends calls that wait.
	waiting := make(chan error)
	go func() { _, err := s.Get(t.Context(), "key"); waiting <- err }()
	begun := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call that was waiting at Close: %v", err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("close took %v", took)
	}
}

func TestNothingIsLeftRunningAfterClose(t *testing.T) {
	server := testkit.NATS(t)
	before := runtime.NumGoroutine()
	for range 5 {
		s, err := Open(t.Context(), of(server.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		for _, err := range s.List(t.Context(), "") {
			t.Errorf("an empty store lists something, %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, 5*time.Second, func(context.Context) error {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines, %d before", n, before)
		}
		return nil
	})
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
