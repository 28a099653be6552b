package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var (
	crashRounds = flag.Int("crash.rounds", 4, "rounds of kill -9 and restart in the crash test")
	crashIDs    = flag.Int("crash.ids", 200_000, "ids that the crash test collects at the least, of all its processes together")
)

// Four processes on one file store are killed and started again at random
// moments, one of them with its clock an hour further back each time.
func TestCrashesAndClocksSetBackNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	const processes = 4
	data := t.TempDir()
	var subjects [processes]*subject
	quota := int64(max(10_000, *crashIDs/processes / *crashRounds + 1))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group, callers sync.WaitGroup
	for p := range processes {
		s := newSubject(t, p, "--data", data)
		callers.Go(func() { s.mint(ctx, 10_000, 0) })
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(p), 1))
			for round := range *crashRounds {
				if p == processes-1 {
					s.setClock(-time.Duration(round) * time.Hour)
				}
				want := s.minted.Load() + quota
				d := s.start()
				if !s.await(want, testkit.Hang) {
					t.Errorf("process %d, round %d: %d ids, want %d:\n%s", p, round, s.minted.Load(), want, s.log())
					return
				}
				pause(ctx, between(random, 0, 100*time.Millisecond))
				d.Kill()
			}
		})
		subjects[p] = s
	}
	group.Wait()
	stop()
	callers.Wait()
	if t.Failed() {
		return
	}
	var ids []snowfence.ID
	for p, s := range subjects {
		t.Logf("process %d: %d ids in %d rounds", p, len(s.ids), *crashRounds)
		if len(s.ids) < *crashIDs/processes {
			t.Errorf("process %d made only %d ids", p, len(s.ids))
		}
		ids = append(ids, s.ids...)
	}
	if err := countertest.Distinct(ids); err != nil {
		t.Error(err)
	}
	if err := countertest.Distinct(append(ids, ids[len(ids)/2])); err == nil {
		t.Error("an id that is planted a second time is not found")
	}
}

// When the store goes away, ids flow until the window ends. Then requests are refused with a time to
// come back, and after the store's return ids flow again. For how long they flow, and how soon they come
// again, is shown in virtual time: see package fence.
func TestIDsOutliveTheStoreByTheWindowAndComeBackWithIt(t *testing.T) {
	t.Parallel()
	config := written(t, "generators:\n  default:\n    window: 2s\n    policy:\n      max-wait: 2ms\n")
	left := regexp.MustCompile(`\nsnowfence_lease_remaining_seconds\{generator="default"\} [0-9.]*[1-9]`) // more than nothing
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.StartEngine(t, name)
			o := outage{engine: engine}
			o.daemon = readyDaemon(t, "--config", config, "--store", engine.URL("", 500*time.Millisecond), "--data", t.TempDir())
			o.until(t, true)
			restore := o.away(t)
			if !o.try(t) && left.MatchString(ask(t, http.MethodGet, o.daemon.URL+"/metrics").body) {
				t.Errorf("no id without the store:\n%s", o.daemon.Log())
			}
			o.until(t, false)
			for range 5 {
				if o.try(t) {
					t.Fatal("issues again without a store")
				}
			}
			restore()
			o.until(t, true)
			if server := engine.Server; server != nil {
				// Some libraries wait for a connection until the call ends: they must name the reason, too.
				why := "connection refused"
				if name == "nats" {
					why = "no servers available for connection" // all that its library reports
				}
				if log := o.daemon.Log(); !strings.Contains(log, why) || !strings.Contains(log, server.Addr()) {
					t.Errorf("the log does not name the store that could not be reached, and why:\n%s", log)
				}
			}
		})
	}
}

// outage is a daemon whose store goes away.
type outage struct {
	engine testkit.Engine
	daemon *testkit.Daemon
}

// until asks for ids until they are issued, or refused.
func (o outage) until(t *testing.T, issued bool) {
	t.Helper()
	testkit.Eventually(t, func(context.Context) error {
		if o.try(t) != issued {
			return fmt.Errorf("issues ids: %t, and that does not change:\n%s", !issued, o.daemon.Log())
		}
		return nil
	})
}

// away takes the store away until restore is called.
func (o outage) away(t *testing.T) (restore func()) {
	t.Helper()
	if o.engine.Server != nil {
		o.engine.Server.Kill()
		return o.engine.Server.Start
	}
	folder := strings.TrimPrefix(o.engine.URL("", 0), "file:")
	return testkit.TakeFolder(t, folder)
}

// try asks for an id and reports whether it came. Every other answer must be a 503 with a time to come
// back.
func (o outage) try(t *testing.T) bool {
	t.Helper()
	answer := ask(t, http.MethodPost, o.daemon.URL+"/v1/generators/default/ids")
	if answer.status == http.StatusOK {
		return true
	}
	seconds, err := strconv.Atoi(answer.header.Get("Retry-After"))
	if answer.status != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(answer.body, `"type"`) {
		t.Fatalf("no id, and no time to come back: %+v", answer)
	}
	return false
}

// A daemon is paused for longer than its window while another claims its
// worker id. When it goes on, the last ids of its old term lie below
// the bound that the store had acknowledged, which is the other's floor; and a
// request that comes 5 ms after it went on, or later, is refused.
func TestDaemonPausedPastItsWindowIssuesNothingOfItsOldTerm(t *testing.T) {
	t.Parallel()
	for range 20 {
		if pausedPastItsWindow(t) {
			return
		}
		t.Log("the disk was so slow that the other daemon lost its term, too: once more")
	}
	t.Error("no daemon keeps a term of a second")
}

// minted is an answer to a daemon's client.
type minted struct {
	asked time.Time
	ids   []snowfence.ID
	err   error
}

// pausedPastItsWindow reports false if the other daemon lost its term: then the first may have claimed the worker id again.
func pausedPastItsWindow(t *testing.T) bool {
	t.Helper()
	arguments := []string{"--config", written(t, "generators:\n  default:\n    worker: 7\n    window: 1s\n"), "--data", t.TempDir()}
	a := readyDaemon(t, arguments...)
	answers, underWay := make(chan minted, 1<<20), make(chan struct{})
	var goesOn atomic.Bool
	go func() {
		defer close(answers)
		client := testkit.Client()
		for n, after, refusals := 0, 0, 0; refusals < 3 && after < 1000; n++ { // after it goes on
			if n == 100 {
				close(underWay)
			}
			asked := time.Now()
			ids, err := testkit.Mint(t.Context(), client, a.URL, "default", 10, nil)
			answers <- minted{asked, ids, err}
			if goesOn.Load() {
				after++
				if err != nil {
					refusals++
				}
			}
		}
	}()
	<-underWay
	freeze(t, a)
	stopped := time.Now()
	b := readyDaemon(t, arguments...)
	first, failed := testkit.Mint(t.Context(), testkit.Client(), b.URL, "default", 1, nil)
	goesOn.Store(true)
	a.Signal(syscall.SIGCONT)
	continued := time.Now()
	var all []minted
	for x := range answers {
		all = append(all, x)
	}
	_, err := testkit.Mint(t.Context(), testkit.Client(), b.URL, "default", 1, nil)
	a.Kill()
	b.Kill()
	if failed != nil || err != nil || strings.Count(b.Log(), "claimed a worker id") != 1 {
		t.Logf("%v %v\n%s", failed, err, b.Log())
		return false
	}
	isOfTheOldTerm(t, all, tickOf(t, first[0]), stopped, continued)
	return true
}

// isOfTheOldTerm checks the answers of a daemon that was paused, while another claimed its worker id with a floor up to next.
func isOfTheOldTerm(t *testing.T, answers []minted, next snowfence.Tick, stopped, continued time.Time) {
	t.Helper()
	before, late, refused := 0, 0, 0
	for _, x := range answers {
		for _, id := range x.ids {
			if tick := tickOf(t, id); tick >= next {
				t.Errorf("tick %d of the old term is not below the new term's %d", tick, next)
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
		t.Errorf("%d answers before the pause, %d with ids later than 5 ms after it, %d refusals", before, late, refused)
	}
	t.Logf("%d answers before the pause, %d refusals after it", before, refused)
}

// tickOf is an id's tick in the default layout.
func tickOf(t *testing.T, id snowfence.ID) snowfence.Tick {
	t.Helper()
	p, err := snowfence.DefaultLayout().Decompose(id)
	if err != nil {
		t.Fatal(err)
	}
	return p.Tick
}
