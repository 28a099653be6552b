package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// pinned writes a configuration whose generator has worker 7 and a short
// window, and returns the arguments that make a daemon use it.
func pinned(t *testing.T, more string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snowfence.yaml")
	content := "generators:\n  default:\n    worker: 7\n    window: 1s\n" + more
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", path, "--data", t.TempDir()}
}

// mint takes ids from a daemon that must give them, and returns their parts.
func mint(t *testing.T, d *testkit.Daemon, n int) []snowfence.Parts {
	t.Helper()
	ids, err := testkit.Mint(t.Context(), testkit.Client(), d.URL, "default", n, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Log())
	}
	var parts []snowfence.Parts
	for _, id := range ids {
		p, err := snowfence.DefaultLayout().Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	return parts
}

func TestTwoDaemonsOnOneFolderHaveDifferentWorkerIDs(t *testing.T) {
	t.Parallel()
	binary, data := testkit.Build(t, programPath, ""), t.TempDir()
	a := testkit.StartDaemon(t, binary, nil, "--data", data)
	b := testkit.StartDaemon(t, binary, nil, "--data", data)
	a.WaitReady()
	b.WaitReady()
	if x, y := mint(t, a, 1)[0].Worker, mint(t, b, 1)[0].Worker; x == y {
		t.Errorf("both have worker id %d", x)
	}
}

func TestSecondDaemonOfAPinnedWorkerIDWaitsAndNamesItsHolder(t *testing.T) {
	t.Parallel()
	binary, arguments := testkit.Build(t, programPath, ""), pinned(t, "    claim-wait: 2s\n")
	a := testkit.StartDaemon(t, binary, nil, arguments...)
	a.WaitReady()
	mint(t, a, 1)
	b := testkit.StartDaemon(t, binary, nil, arguments...)
	for !strings.Contains(b.Log(), "it is tried again") {
		runtime.Gosched()
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"worker 7", host, "until"} {
		if !strings.Contains(b.Log(), word) {
			t.Errorf("the log does not say %q:\n%s", word, b.Log())
		}
	}
	mint(t, a, 1)
	a.Signal(syscall.SIGTERM)
	b.WaitReady()
	mint(t, b, 1)
}

func TestPinnedWorkerIDIsFreeAtOnceAfterAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	binary, arguments := testkit.Build(t, programPath, ""), pinned(t, "")
	a := testkit.StartDaemon(t, binary, nil, arguments...)
	a.WaitReady()
	last := mint(t, a, 1000)[999]
	a.Signal(syscall.SIGTERM)
	if code := a.WaitEnded(); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, a.Log())
	}
	b := testkit.StartDaemon(t, binary, nil, arguments...)
	b.WaitReady()
	if next := mint(t, b, 1)[0]; next.Worker != 7 || next.Tick <= last.Tick {
		t.Errorf("%+v after %+v", next, last)
	}
}

// A daemon is paused for longer than its window while another claims its
// worker id. When it goes on, what it still returns of its old term lies below
// the bound that the store had acknowledged, which is the other's floor; and a
// request that comes 5 ms after it went on, or later, is refused.
func TestDaemonPausedPastItsWindowIssuesNothingOfItsOldTerm(t *testing.T) {
	t.Parallel()
	binary, arguments := testkit.Build(t, programPath, ""), pinned(t, "")
	for round := range 3 {
		a := testkit.StartDaemon(t, binary, nil, arguments...)
		a.WaitReady()
		type answer struct {
			asked time.Time
			ids   []snowfence.ID
			err   error
		}
		answers, underWay := make(chan answer, 1<<20), make(chan struct{})
		go func() {
			defer close(answers)
			client := testkit.Client()
			for n, refusals := 0, 0; refusals < 3; n++ {
				if n == 100 {
					close(underWay)
				}
				asked := time.Now()
				ids, err := testkit.Mint(t.Context(), client, a.URL, "default", 10, nil)
				answers <- answer{asked, ids, err}
				if err != nil {
					refusals++
				}
			}
		}()
		<-underWay
		freeze(t, a)
		stopped := time.Now()
		b := testkit.StartDaemon(t, binary, nil, arguments...)
		b.WaitReady()
		floor := mint(t, b, 1)[0].Tick
		a.Signal(syscall.SIGCONT)
		continued := time.Now()

		before, late, refused := 0, 0, 0
		for x := range answers {
			for _, id := range x.ids {
				p, err := snowfence.DefaultLayout().Decompose(id)
				if err != nil {
					t.Fatal(err)
				}
				if p.Tick >= floor {
					t.Errorf("round %d: tick %d of the old term is not below the new term's %d", round, p.Tick, floor)
				}
			}
			switch {
			case x.asked.Before(stopped) && x.err == nil:
				before++
			case x.err == nil && x.asked.After(continued.Add(5*time.Millisecond)):
				late++
			case x.err != nil:
				refused++
			}
		}
		if before == 0 || late > 0 || refused == 0 {
			t.Errorf("round %d: %d answers before the pause, %d with ids later than 5 ms after it, %d refusals", round, before, late, refused)
		}
		mint(t, b, 1)
		t.Logf("round %d: %d answers before the pause, %d refusals after it", round, before, refused)
		a.Kill()
		b.Kill()
	}
}

// freeze stops a daemon.
func freeze(t *testing.T, d *testkit.Daemon) {
	t.Helper()
	d.Signal(syscall.SIGSTOP)
	pause(t.Context(), 10*time.Millisecond) // until each of its threads has stopped
}

// pause lets the fault or the pace last.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
