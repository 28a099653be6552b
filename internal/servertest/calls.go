package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// A client library that sends a swap again makes a conflict of its own success. So does one that
// keeps the swap and sends it when it has connected again.
func swapIsSentOnce(t *testing.T, b bed) {
	proxy := testkit.NewProxy(t, b.server.Addr())
	direct, s := b.open(t, b.at()), b.open(t, b.at(proxy.Addr()))
	version := Swap(t, s, "key", "", "created")
	version = Swap(t, s, "key", version, "warm")
	for round := range 4 {
		value := fmt.Sprintf("lost-%d.", round)
		sent := proxy.Count(b.wire(value))
		lost := proxy.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte(b.wire(value))) })
		if _, err := s.Swap(t.Context(), "key", version, []byte(value)); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap whose reply is lost: %v", err)
		}
		<-lost
		e, err := direct.Get(t.Context(), "key")
		if err != nil || string(e.Value) != value {
			t.Fatalf("the register holds %q, %v", e.Value, err)
		}
		// The client has connected again when this takes effect.
		testkit.Eventually(t, func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err })
		version = Swap(t, s, "key", e.Version, "after")
		if n := sent(); n != 1 {
			t.Errorf("the swap was sent %d times", n)
		}
	}
}

// patience is how long a call waits for a silent server, on its context's word alone.
const patience = 100 * time.Millisecond

func silentServerEndsNoContextLate(t *testing.T, b bed) {
	proxy := testkit.NewProxy(t, b.server.Addr())
	for name, hang := range map[string]struct{ begin, stop func() }{
		"stopped": {b.server.Pause, b.server.Resume},
		"silent":  {proxy.Drop, proxy.Heal},
		"mute":    {proxy.LoseReplies, proxy.Heal},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.at(proxy.Addr())
			p.Prefix += name
			s := b.open(t, p)
			all := calls(s, Swap(t, s, "key", "", "before"))
			user := p
			user.User, user.Password = "ids", secret // a library may ask for a token first
			for verb, p := range map[string]Place{"open": p, "open with a login": user} {
				all[verb] = func(ctx context.Context) error {
					other, err := b.Open(ctx, b.URL(p))
					if err == nil {
						err = errors.Join(errors.New("opened"), other.Close())
					}
					return err
				}
			}
			hang.begin()
			defer hang.stop()
			var waiting sync.WaitGroup
			for verb, call := range all {
				waiting.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					if err := ended(t, verb, func() error { return call(ctx) }); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s whose deadline passes: %v", verb, err)
					}
					cancelled, cancel := context.WithCancel(t.Context())
					defer time.AfterFunc(patience, cancel).Stop()
					if err := ended(t, verb, func() error { return call(cancelled) }); !errors.Is(err, context.Canceled) {
						t.Errorf("%s that is cancelled: %v", verb, err)
					}
				})
			}
			waiting.Wait()
			hang.stop()
			testkit.Eventually(t, func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err })
		})
	}
}

func closeEndsCallsThatWait(t *testing.T, b bed) {
	proxy := testkit.NewProxy(t, b.server.Addr())
	s, err := b.Open(t.Context(), b.URL(b.at(proxy.Addr())))
	if err != nil {
		t.Fatal(err)
	}
	version := Swap(t, s, "register", "", "value")
	sent := proxy.Count(b.wire("register"))
	proxy.LoseReplies()
	returned := make(chan error, 2)
	go func() { _, err := s.Get(context.WithoutCancel(t.Context()), "register"); returned <- err }()
	go func() {
		_, err := s.Swap(context.WithoutCancel(t.Context()), "register", version, nil)
		returned <- err
	}()
	testkit.Eventually(t, func(context.Context) error {
		if sent() == 0 {
			return errors.New("no call has reached the server")
		}
		return nil
	})
	if err := ended(t, "close", s.Close); err != nil {
		t.Errorf("close: %v", err)
	}
	for range 2 {
		if err := ended(t, "a call", func() error { return <-returned }); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a call under way: %v", err)
		}
	}
}

func closedStoreLeavesNoGoroutine(t *testing.T, b bed) {
	nobody := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	before := runtime.NumGoroutine()
	for range 3 {
		s, err := b.Open(t.Context(), b.URL(b.at()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		if err := errors.Join(Listed(t.Context(), s, "", nil), s.Close()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := b.Open(ctx, b.URL(b.at(nobody))); err == nil {
			t.Error("opened on nobody")
		}
		cancel()
	}
	testkit.Eventually(t, func(context.Context) error {
		if n := runtime.NumGoroutine(); n > before {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
}

func clientSurvivesARestart(t *testing.T, b bed) {
	s := b.open(t, b.at())
	version := Swap(t, s, "key", "", "before")
	for _, stop := range []func(){b.server.Kill, b.server.Stop} {
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		var calling sync.WaitGroup
		for range 100 { // more failures than a library's pool would take
			calling.Go(func() {
				if _, err := s.Get(ctx, "key"); err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
					t.Errorf("get without a server: %v", err)
				}
			})
		}
		calling.Wait()
		if _, err := s.Swap(ctx, "key", version, []byte("lost")); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("swap without a server: %v", err)
		}
		cancel()
		b.server.Start()
		testkit.Eventually(t, func(ctx context.Context) error {
			e, err := s.Get(ctx, "key")
			if err == nil && e.Version != version {
				t.Fatalf("the register is %+v, want version %q", e, version)
			}
			return err
		})
		version = Swap(t, s, "key", version, "after")
	}
}

// The first endpoint is closed, and the second falls silent while it is in use.
func anyEndpointWillDo(t *testing.T, b bed) {
	proxy := testkit.NewProxy(t, b.server.Addr())
	if b.Ensemble {
		proxy.Drop()
	}
	s := b.open(t, b.at(fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t)), proxy.Addr(), b.server.Addr()))
	version := Swap(t, s, "key", "", "before")
	proxy.Drop()
	version = Persist(t, s, "key", version, "beside a silent server")
	b.server.Kill()
	b.server.Start()
	Persist(t, s, "key", version, "after")
}

// A pinned worker with a window of 5 seconds gives each request a sixth of it.
func memberThatIsAwayHoldsNobodyUp(t *testing.T, b bed) {
	silent := testkit.NewProxy(t, b.server.Addr())
	silent.Drop()
	for name, away := range map[string]string{"silent": silent.Addr(), "closed": fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))} {
		t.Run(name, func(t *testing.T) {
			// A busy machine may need more than one attempt.
			testkit.Eventually(t, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second/6)
				defer cancel()
				s, err := b.Open(ctx, b.URL(b.at(away, b.server.Addr())))
				if err != nil {
					return err
				}
				return s.Close()
			})
		})
	}
}

func errorSaysWhyNobodyAnswers(t *testing.T, b bed) {
	nobody := b.at(fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t)))
	user := nobody
	user.User, user.Password = "ids", secret
	for _, p := range []Place{nobody, user} {
		// The client may not have tried to connect before the context ends.
		testkit.Eventually(t, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 3*patience)
			defer cancel()
			s, err := b.Open(ctx, b.URL(p))
			if err == nil {
				return errors.Join(errors.New("opened"), s.Close())
			}
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the error shows the password: %v", err)
			}
			if !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), p.Addresses[0]) {
				return err
			}
			return nil
		})
	}
}
