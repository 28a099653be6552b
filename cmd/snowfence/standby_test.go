//go:build servers

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var (
	standbyEngines   = flag.String("standby.engines", "file,etcd,postgres", "engines of the standby test, separated by commas")
	standbyFailovers = flag.Int("standby.failovers", 6, "failovers that the standby test does on each engine")
	standbySeed      = flag.Uint64("standby.seed", 1, "seed by which the standby test chooses its moments")
)

const (
	standbyClients = 8
	standbySkew    = standbyWindow / 2 // how far a holder's wall clock is set back
)

// Of two daemons one gives the ids of a namespace without worker bits. It ends, dies, is stopped, and
// is cut off from the store, with its wall clock set back at times. The other one takes over each time.
// All the while clients ask both. If a call returned before another one was sent, its ids are smaller.
func TestStandbyTakesOverAndIDsGoOnIncreasing(t *testing.T) {
	t.Parallel()
	for name := range strings.SplitSeq(*standbyEngines, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDuo(t, name)
			defer d.judge() // of a run that fails, too
			d.run()
		})
	}
}

// duo is two daemons of one namespace, and their callers.
type duo struct {
	t         *testing.T
	folder    string // of the store; empty if it has a server
	began     time.Time
	subjects  [2]*subject
	askers    []*asker
	handovers []handover

	stop    context.CancelFunc
	running sync.WaitGroup
}

// handover is one failover, from the moment that it was caused to the first answer of the successor.
type handover struct {
	cause       string
	began, over time.Duration
}

// asker is a client. It goes to the other daemon when one gives no id, or asks the same one for ever.
type asker struct {
	to    int // the daemon that it asks next
	loyal bool
	drawn []countertest.Drawn // of each call two, on one monotonic clock
}

func newDuo(t *testing.T, engineName string) *duo {
	ctx, stop := context.WithCancel(t.Context())
	d := &duo{t: t, began: time.Now(), stop: stop}
	t.Cleanup(func() { stop(); d.running.Wait() })
	engine := testkit.StartEngine(t, engineName)
	if engine.Server == nil {
		d.folder = strings.TrimPrefix(engine.URL("", 0), "file:")
	}
	config := strictConfig(t)
	for number := range d.subjects {
		s := newSubject(t, number, "--config", config, "--data", t.TempDir())
		s.use(engine, 0)
		d.subjects[number] = s
		s.start()
	}
	for i := range standbyClients + len(d.subjects) {
		a := &asker{to: i % len(d.subjects), loyal: i >= standbyClients}
		d.askers = append(d.askers, a)
		d.running.Go(func() { d.ask(ctx, a) })
	}
	return d
}

// ask asks until the context ends. A loyal client waits for a daemon that is stopped, so that one has
// requests to answer when it continues.
func (d *duo) ask(ctx context.Context, a *asker) {
	client := testkit.Client()
	defer client.CloseIdleConnections()
	client.Timeout = standbyWindow / 4
	if a.loyal {
		client.Timeout = time.Minute
	}
	for ctx.Err() == nil {
		s := d.subjects[a.to]
		sent := time.Since(d.began)
		// An error means fewer ids, or none, as in every failover.
		ids, err := testkit.Mint(ctx, client, s.current().URL, "default", 2, nil)
		received := time.Since(d.began)
		if len(ids) > 0 {
			for _, id := range ids {
				a.drawn = append(a.drawn, countertest.Drawn{Number: int64(id), Begun: sent, End: received})
			}
			s.minted.Add(int64(len(ids)))
		}
		if err != nil && !a.loyal {
			a.to = 1 - a.to
		}
		pause(ctx, time.Millisecond)
	}
}

// run does the failovers, every kind as often as the others.
func (d *duo) run() {
	causes := []struct {
		name       string
		begin, end func(holder *subject)
	}{
		{"graceful", func(s *subject) {
			s.current().Signal(syscall.SIGTERM)
			if code := s.current().WaitEnded(); code != 0 {
				d.t.Errorf("the daemon ended with exit code %d:\n%s", code, s.log())
			}
		}, func(s *subject) { s.start() }},
		{"crash: killed", func(s *subject) { s.current().Kill() }, func(s *subject) { s.start() }},
		{"crash: stopped, and continued", func(s *subject) { freeze(d.t, s.current()) }, func(s *subject) { s.signal(syscall.SIGCONT) }},
		{"crash: cut off, connections reset", func(s *subject) { s.proxy.Cut() }, func(s *subject) { s.proxy.Heal() }},
		{"crash: cut off, half open", func(s *subject) { s.proxy.Drop() }, func(s *subject) { s.proxy.Heal() }},
	}
	if d.folder != "" {
		causes = causes[:3] // none is cut off from a folder
	}
	random := rand.New(rand.NewPCG(*standbySeed, 0))
	for i := range *standbyFailovers {
		cause := causes[i%len(causes)]
		holder, successor := d.roles()
		if random.IntN(2) == 0 {
			holder.setClock(-standbySkew)
		}
		pause(d.t.Context(), between(random, 0, standbyWindow))
		before, began := successor.minted.Load(), time.Since(d.began)
		cause.begin(holder)
		if !successor.await(before+1, testkit.Hang) {
			d.t.Fatalf("%s: the standby does not take over:\n%s", cause.name, successor.log())
		}
		d.handovers = append(d.handovers, handover{cause.name, began, time.Since(d.began)})
		holder.setClock(0)
		cause.end(holder)
	}
	d.roles()
}

// roles waits until one daemon is active and the other is ready and stands by.
// Ids don't show it: an answer of before a pause may come after it.
func (d *duo) roles() (holder, successor *subject) {
	d.t.Helper()
	client := testkit.Client()
	defer client.CloseIdleConnections()
	testkit.Eventually(d.t, func(ctx context.Context) error {
		says := func(s *subject, path string) string {
			answer, err := askBy(ctx, client, http.MethodGet, s.current().URL+path)
			return fmt.Sprint(answer.status, " ", answer.body, err)
		}
		all := ""
		for i := range d.subjects {
			holder, successor = d.subjects[i], d.subjects[1-i]
			active, passive, ready := says(holder, "/activez"), says(successor, "/activez"), says(successor, "/readyz")
			if strings.HasPrefix(active, "200") && strings.HasPrefix(ready, "200") && strings.Contains(passive, "problem/standby") {
				return nil
			}
			all += fmt.Sprintf("daemon %d answers %s, the other one %s and %s:\n%s", i, active, passive, ready, holder.log())
		}
		return errors.New(all)
	})
	return holder, successor
}

// judge judges the order of all calls, and prints the longest time without an answer.
func (d *duo) judge() {
	d.stop()
	d.running.Wait()
	var drawn []countertest.Drawn
	for _, a := range d.askers {
		drawn = append(drawn, a.drawn...)
	}
	if err := countertest.Order(drawn); err != nil {
		d.t.Error(err)
	}
	numbers, returned := make([]int64, len(drawn)), make([]time.Duration, len(drawn))
	for i, n := range drawn {
		numbers[i], returned[i] = n.Number, n.End
	}
	if err := countertest.Distinct(numbers); err != nil {
		d.t.Error(err)
	}
	slices.Sort(returned)
	d.t.Logf("%d failovers in %s, seed %d: %d ids", len(d.handovers), time.Since(d.began).Round(time.Second), *standbySeed, len(drawn))
	for _, line := range gaps(returned, d.handovers) {
		d.t.Log(line)
	}
}

// gaps returns a line for each cause: how long there was no answer in its failovers. The answers are sorted.
func gaps(returned []time.Duration, handovers []handover) (lines []string) {
	byCause := map[string][]time.Duration{}
	for _, h := range handovers {
		i, _ := slices.BinarySearch(returned, h.began)
		longest := time.Duration(0)
		for i = max(i, 1); i < len(returned) && returned[i-1] <= h.over; i++ {
			longest = max(longest, returned[i]-returned[i-1])
		}
		byCause[h.cause] = append(byCause[h.cause], longest)
	}
	for cause, list := range byCause {
		slices.Sort(list)
		lines = append(lines, fmt.Sprintf("%-34s %3d times, without an answer for %s at most, %s in the median", cause, len(list),
			list[len(list)-1].Round(time.Millisecond), list[len(list)/2].Round(time.Millisecond)))
	}
	slices.Sort(lines)
	return lines
}
