package fence_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// bubbleLayout has an epoch before the time at which a synctest bubble begins,
// and two workers.
func bubbleLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Epoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 12},
	}
	return l
}

// open opens a holder that is closed with the test.
func open(t *testing.T, s store.Store, changes ...func(*fence.Config)) *fence.Holder {
	t.Helper()
	h, err := tryOpen(t, s, changes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Logf("close: %v", err)
		}
	})
	return h
}

func tryOpen(t *testing.T, s store.Store, changes ...func(*fence.Config)) (*fence.Holder, error) {
	t.Helper()
	c := fence.Config{Store: s, Layout: bubbleLayout(), Process: fence.Process{Host: "host-a", PID: 1}}
	for _, change := range changes {
		change(&c)
	}
	return fence.Open(t.Context(), c)
}

// openFaulty opens a holder on a store in memory that fails as the test sets.
func openFaulty(t *testing.T, changes ...func(*fence.Config)) (*fence.Holder, *faultstore.Store) {
	t.Helper()
	s := faultstore.New(memstore.New().Client(), nil, nil)
	return open(t, s, changes...), s
}

// openJumping opens a holder on a clock that the test steps.
func openJumping(t *testing.T, s store.Store, changes ...func(*fence.Config)) (*fence.Holder, *jumping) {
	t.Helper()
	clock := &jumping{Clock: snowfence.SystemClock()}
	return open(t, s, append(changes, func(c *fence.Config) { c.Clock = clock })...), clock
}

// steady checks that a holder still has its first term.
func steady(t *testing.T, h *fence.Holder) {
	t.Helper()
	if s := h.Status(); s.Term != 1 || s.Losses != 0 {
		t.Errorf("the status is %+v", s)
	}
}

// ready checks whether a holder is ready, and that its status has an error if it is not.
func ready(t *testing.T, h *fence.Holder, want bool) {
	t.Helper()
	if s := h.Status(); s.Ready != want || (s.LastError == nil) != want {
		t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
	}
}

func pinned(c *fence.Config) { c.Worker = new(int64) }

// pass lets time pass in a synctest bubble: a timer there expires when every
// goroutine waits.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
}

func next(t *testing.T, h *fence.Holder) snowfence.ID {
	t.Helper()
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestHolderIsReadyWhenOpenReturns(t *testing.T) {
	for range 200 {
		h := open(t, memstore.New().Client())
		if s := h.Status(); !s.Ready || s.Term != 1 {
			t.Fatalf("ready %t, term %d in phase %s", s.Ready, s.Term, s.Phase)
		}
	}
}

func TestHolderIssuesAndExtendsForAsLongAsItsStoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New().Client())
		last := snowfence.ID(0)
		for range 100 {
			id := next(t, h)
			if id <= last {
				t.Fatalf("%d came after %d", id, last)
			}
			last = id
			pass(7 * time.Second)
		}
		s := h.Status()
		if !s.Ready || s.Term != 1 || s.Extensions < 30 || s.Losses != 0 || s.Left < 39*time.Second || s.Phase != "holding" {
			t.Errorf("the status is %+v", s)
		}
	})
}

// TestOutageThatNoCallHasMetIsAsOldAsAnyOther: it began when the window ended, and
// the first call does not have to find that out by waiting.
func TestOutageThatNoCallHasMetIsAsOldAsAnyOther(t *testing.T) {
	for _, x := range []struct{ idle, wait time.Duration }{
		{0, time.Second},
		{400 * time.Millisecond, 600 * time.Millisecond},
		{time.Second, 0},
		{time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, faulty := openFaulty(t)
			for range 2 { // the second outage is not as old as the first
				faulty.Follow(noStore)
				pass(h.Status().Left + time.Millisecond)
				pass(x.idle)
				before := time.Now()
				_, err := h.Next(t.Context())
				if waited := time.Since(before); !errors.Is(err, fence.ErrUnavailable) || !errors.Is(err, snowfence.ErrWindowEnded) || !errors.Is(err, faultstore.ErrInjected) || waited < x.wait-5*time.Millisecond || waited > x.wait {
					t.Errorf("after %s the first call waited for %s, not %s: %v", x.idle, waited, x.wait, err)
				}
				faulty.Follow(nil)
				pass(time.Minute)
				next(t, h)
			}
		})
	}
}

func TestCallsThatWaitEndWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty := openFaulty(t, pinned)
		faulty.Follow(noStore)
		pass(6 * time.Second)
		ended := make(chan error)
		go func() {
			_, err := h.Next(t.Context())
			ended <- err
		}()
		synctest.Wait()
		faulty.Follow(nil)
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, fence.ErrClosed) && !errors.Is(err, snowfence.ErrRevoked) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestOpenSaysThatTheStoreIsTheCause fails a verb, or the store as a whole.
func TestOpenSaysThatTheStoreIsTheCause(t *testing.T) {
	for _, verb := range []faultstore.Verb{faultstore.Traits, faultstore.Get, faultstore.Swap, faultstore.List, ""} {
		synctest.Test(t, func(t *testing.T) {
			fails := faultstore.Only(noStore, func(c faultstore.Call) bool { return verb == "" || c.Verb == verb })
			memory := memstore.New()
			for range bubbleLayout().Workers() { // a full pool is listed
				if verb == faultstore.List {
					open(t, memory.Client())
				}
			}
			faulty := faultstore.New(memory.Client(), fails, nil)
			if _, err := tryOpen(t, faulty); !errors.Is(err, fence.ErrUnavailable) || !errors.Is(err, faultstore.ErrInjected) {
				t.Errorf("with a fault of %q: %v", verb, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := fence.Open(ctx, fence.Config{Store: faulty, Layout: bubbleLayout()})
			if !errors.Is(err, fence.ErrUnavailable) || !errors.Is(err, faultstore.ErrInjected) {
				t.Errorf("with a fault of %q, cut short: %v", verb, err)
			}
		})
	}
}

func TestHorizonIsAnnouncedAYearBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		for _, test := range []struct {
			lasts, notice time.Duration
			near          bool
		}{{364 * day, 0, true}, {366 * day, 0, false}, {364 * day, 30 * day, false}, {20 * day, 30 * day, true}, {20 * day, 1, false}} {
			log := new(journal)
			h := open(t, memstore.New().Client(), log.keep, func(c *fence.Config) {
				c.Layout.Epoch = time.Now().Add(test.lasts - time.Duration(1<<41)*time.Millisecond)
				c.HorizonNotice = test.notice
			})
			pass(time.Minute)
			said := len(log.lines("level=WARN", "time bits run out"))
			if s := h.Status(); s.HorizonNear != test.near || said > 1 || (said == 1) != test.near {
				t.Errorf("it lasts for %s, notice %s: near %t, warned %d times", s.HorizonIn, test.notice, s.HorizonNear, said)
			}
		}
	})
}

func TestNextAllocatesNothing(t *testing.T) {
	h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Layout = snowfence.DefaultLayout() })
	wide := open(t, memstore.New().Client(), func(c *fence.Config) { c.Layout = wideLayout(t) })
	ids, wides := make([]snowfence.ID, 64), make([]snowfence.WideID, 64)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Next":     func() error { _, err := h.Next(ctx); return err },
		"Fill":     func() error { return h.Fill(ctx, ids) },
		"NextWide": func() error { _, err := wide.NextWide(ctx); return err },
		"FillWide": func() error { return wide.FillWide(ctx, wides) },
	} {
		failed := error(nil)
		if n := testing.AllocsPerRun(200, func() {
			if err := call(); err != nil {
				failed = err
			}
		}); n != 0 || failed != nil {
			t.Errorf("%s allocates %v times, %v", name, n, failed)
		}
	}
}

// wideLayout is the one of UUIDs.
func wideLayout(t *testing.T) snowfence.Layout {
	t.Helper()
	preset, err := snowfence.PresetByName("uuid8")
	if err != nil {
		t.Fatal(err)
	}
	return preset.Layout
}

func TestHolderIssuesWideIDsOfItsWorkerAndNoOthers(t *testing.T) {
	l, m := wideLayout(t), memstore.New()
	for range 2 { // the second goes on above the first
		h := open(t, m.Client(), func(c *fence.Config) { c.Layout = l })
		ids := make([]snowfence.WideID, 10)
		var err error
		if ids[0], err = h.NextWide(t.Context()); err == nil {
			err = h.FillWide(t.Context(), ids[1:])
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			p, err := l.DecomposeWide(id)
			if err != nil || p.Worker != h.Status().Worker || i > 0 && bytes.Compare(ids[i-1][:], id[:]) >= 0 {
				t.Errorf("id %d is %s: %+v, %v; the worker id is %d", i, id, p, err, h.Status().Worker)
			}
		}
		var wrong *snowfence.LayoutError
		if _, err := h.Next(t.Context()); !errors.As(err, &wrong) {
			t.Errorf("an id of 64 bits: error is %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id, err := h.NextWide(t.Context()); !errors.Is(err, fence.ErrClosed) || id != (snowfence.WideID{}) {
			t.Errorf("after close: %s, %v", id, err)
		}
	}
}

// doubtful is a store that warns of what it stands on.
type doubtful struct{ store.Store }

func (doubtful) Warnings() []string { return []string{"the folder does not last"} }

func TestConfigWithoutAStoreIsRefused(t *testing.T) {
	if _, err := fence.Open(t.Context(), fence.Config{}); err == nil {
		t.Error("it is opened")
	}
}

func TestWarningsOfAStoreAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		open(t, doubtful{memstore.New().Client()}, log.keep)
		log.once(t, "level=WARN", "the folder does not last")
	})
}

func TestOpenBesideASilentStoreIsUnavailableWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := faultstore.New(memstore.New().Client(), faultstore.Always(faultstore.Fault{Delay: time.Hour}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := fence.Open(ctx, fence.Config{Store: silent}); !errors.Is(err, fence.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := fence.Open(gone, fence.Config{Store: silent}); !errors.Is(err, context.Canceled) || errors.Is(err, fence.ErrUnavailable) {
			t.Errorf("a caller that left: %v", err)
		}
	})
}
