package client

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// The two ways to ids are one to a program.
var (
	_ Source = (*Client)(nil)
	_ Source = (*fence.Holder)(nil)
)

// gated answers as a function does, but each answer waits for a value from the gate. It notes the
// numbers of ids that were asked for.
type gated struct {
	answers
	gate  chan struct{}
	sizes []string
}

func (g *gated) answer(words []string) string {
	g.sizes = append(g.sizes, words[3])
	<-g.gate
	return g.answers(words)
}

func newGated() *gated {
	return &gated{answers: counting(new(atomic.Int64)), gate: make(chan struct{}, 10)}
}

func TestCallsThatWaitRideOnOneRequestInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		c, _ := connected(t, Config{}, g.answer)
		ids := make([]snowfence.ID, 11)
		for i := range ids {
			go func() {
				var err error
				if ids[i], err = c.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // the call waits
		}
		close(g.gate)
		synctest.Wait()
		if want := []snowfence.ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(ids, want) {
			t.Errorf("ids %v in the order of the calls", ids)
		}
		if !slices.Equal(g.sizes, []string{"1", "10"}) {
			t.Errorf("requests of %q ids", g.sizes)
		}
	})
}

func TestRequestHasABatchAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		c, _ := connected(t, Config{Batch: 4}, g.answer)
		for range 8 {
			go func() { _, _ = c.Next(t.Context()) }()
			synctest.Wait()
		}
		close(g.gate)
		synctest.Wait()
		if !slices.Equal(g.sizes, []string{"1", "4", "3"}) {
			t.Errorf("requests of %q ids", g.sizes)
		}
	})
}

func TestLaterCallGetsAGreaterID(t *testing.T) {
	c := newClient(t, Config{Servers: []string{listen(t, counting(new(atomic.Int64)))}})
	var newest atomic.Int64 // of the calls that have returned
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 500 {
				before := newest.Load()
				id, err := c.Next(t.Context())
				if err != nil || int64(id) <= before {
					t.Errorf("%d after %d, %v", id, before, err)
					return
				}
				for old := newest.Load(); old < int64(id) && !newest.CompareAndSwap(old, int64(id)); old = newest.Load() {
				}
			}
		})
	}
	calls.Wait()
}

func TestFillIsCutIntoRequestsOfABatch(t *testing.T) {
	c := newClient(t, Config{Batch: 4, Servers: []string{
		listen(t, script(ranges(100, 1, 110, 3), ranges(200, 2, 210, 1, 220, 1), ranges(300, 1))),
	}})
	ids := make([]snowfence.ID, 9)
	if err := c.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if want := []snowfence.ID{100, 110, 111, 112, 200, 201, 210, 220, 300}; !slices.Equal(ids, want) {
		t.Error(ids)
	}
	if err := c.Fill(t.Context(), nil); err != nil {
		t.Errorf("no ids: %v", err)
	}
}

func TestCallThatLeavesDisturbsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		c, _ := connected(t, Config{}, g.answer)
		gone := errors.New("gone")
		call := func(ctx context.Context, want snowfence.ID, cause error) {
			go func() {
				if id, err := c.Next(ctx); id != want || !errors.Is(err, cause) {
					t.Errorf("got %d, %v: want %d, %v", id, err, want, cause)
				}
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		call(ctx, 0, gone) // its request is sent
		call(t.Context(), 2, nil)
		call(ctx, 0, gone) // it has a place in the middle of the next one
		call(t.Context(), 4, nil)
		cancel(gone)
		synctest.Wait()
		close(g.gate)
		synctest.Wait()
	})
}

func TestCallDoesNotWaitLessForCallsThatHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxWait, busy = 10 * time.Second, 20 * time.Second
		answered := false
		count := counting(new(atomic.Int64))
		c, _ := connected(t, Config{MaxWait: maxWait, Timeout: time.Minute}, func(words []string) string {
			if answered {
				return "-TRYAGAIN\r\n"
			}
			answered = true
			<-time.After(busy)
			return count(words)
		})
		go func() { _, _ = c.Next(t.Context()) }()
		synctest.Wait()
		leaving, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Next(leaving); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		<-time.After(busy - 2*time.Second)
		began := time.Now()
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) || time.Since(began) != maxWait {
			t.Errorf("%v after %s, want %s", err, time.Since(began), maxWait)
		}
	})
}

func TestCallsThatHaveLeftAreNotAskedFor(t *testing.T) {
	for _, another := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGated()
			c, _ := connected(t, Config{}, g.answer)
			ctx, cancel := context.WithCancel(t.Context())
			call := func(ctx context.Context) {
				go func() { _, _ = c.Next(ctx) }()
				synctest.Wait()
			}
			for range 3 { // the first one is asked for, and the others wait
				call(ctx)
			}
			cancel()
			synctest.Wait()
			want := []string{"1"}
			if another {
				call(t.Context())
				want = append(want, "1")
			}
			close(g.gate)
			synctest.Wait()
			if !slices.Equal(g.sizes, want) {
				t.Errorf("requests of %q ids, want %q", g.sizes, want)
			}
		})
	}
}

func TestCloseEndsCallsAndGoroutines(t *testing.T) {
	// The bubble fails when a goroutine is left at its end.
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, func([]string) string { return silent })
		for range 3 {
			go func() {
				if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("a call under way: %v", err)
				}
			}()
			synctest.Wait()
		}
		began := time.Now()
		for range 2 {
			go func() {
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %s", took)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) || snowfence.ClassOf(err) != snowfence.ClassFinal {
			t.Errorf("a later call: %v", err)
		}
		if err := c.Fill(t.Context(), make([]snowfence.ID, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("a later Fill: %v", err)
		}
	})
}

func TestCloseReturnsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newClient(t, Config{Servers: []string{"a"}, Dial: stuckDial(release)})
		go func() { _, _ = c.Next(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(release)
	})
}

func TestIdleClientHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, counting(new(atomic.Int64)))
		gives(t, c, 1)
		c.done.Wait() // a goroutine that stays is a deadlock here
	})
}

func TestConfigThatCanNotBeUsedNamesItsField(t *testing.T) {
	ok := []string{"127.0.0.1:7601"}
	for _, c := range []struct {
		field  string
		config Config
	}{
		{"Servers", Config{}},
		{"Servers", Config{Servers: []string{"127.0.0.1"}}},
		{"TLS", Config{Servers: ok, TLS: new(tls.Config), Dial: stuckDial(nil)}},
		{"Timeout", Config{Servers: ok, Timeout: -1}},
		{"MaxWait", Config{Servers: ok, MaxWait: -1}},
		{"MaxAge", Config{Servers: ok, MaxAge: time.Microsecond}},
		{"Batch", Config{Servers: ok, Batch: -1}},
		{"Batch", Config{Servers: ok, Batch: maxBatch + 1}},
		{"Prefetch", Config{Servers: ok, Prefetch: -1}},
		{"Prefetch", Config{Servers: ok, Batch: 10, Prefetch: 1001}},
		{"Prefetch", Config{Servers: ok, Prefetch: 1, Strict: true}},
	} {
		_, err := New(c.config)
		if err == nil || !strings.HasPrefix(err.Error(), "client: "+c.field+" is ") || snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}
