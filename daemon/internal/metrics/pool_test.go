package metrics

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestWorkerIDsAreCountedOnceAMinuteAndNoScrapeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var lists atomic.Int64
		s := faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
			if c.Verb == faultstore.List {
				lists.Add(1)
			}
			return faultstore.Fault{Before: away.Load(), Delay: time.Second}
		}, nil)
		ids, err := fence.Open(t.Context(), fence.Config{Store: s, Namespace: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ids.Close(t.Context()) }()
		registry := prometheus.NewRegistry()
		pool := view.Pool{Store: s, Namespace: "orders"}
		all := view.New(view.Config{
			Service: testService(t), Pools: []view.Pool{pool, pool}, Clock: snowfence.SystemClock(), Requests: func() map[string]view.Requests { return nil },
		})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go all.Run(ctx)
		if err := registry.Register(NewPools(all.Censuses)); err != nil {
			t.Fatal(err)
		}
		shown := func() (lines []string) {
			begun := time.Now()
			text := read(registry)
			if took := time.Since(begun); took > 0 {
				t.Errorf("a scrape waited for %s", took)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "snowfence_namespace_workers{") || strings.HasPrefix(line, "snowfence_namespace_workers_silent{") {
					lines = append(lines, line)
				}
			}
			return lines
		}
		const free, held = `snowfence_namespace_workers{namespace="orders",state="free",store=""} 1023`, `snowfence_namespace_workers{namespace="orders",state="held",store=""} 1`
		const silent = `snowfence_namespace_workers_silent{namespace="orders",store=""} 0`
		for i, step := range []struct {
			wait  time.Duration
			away  bool
			lines int
			lists int64
		}{
			{0, false, 0, 0},
			{10 * time.Second, false, 8, 1},                      // the first scrape asked for it
			{20 * time.Second, false, 8, 1},                      // not due yet
			{10 * time.Minute, true, 8, 1},                       // due: the next one is asked for
			{10 * time.Second, true, 0, 1},                       // the namespace's record can't be read
			{time.Hour, false, 0, 1}, {time.Minute, false, 8, 2}, // the store is back
		} {
			<-time.After(step.wait)
			away.Store(step.away)
			lines := shown()
			synctest.Wait()
			if text := strings.Join(lines, ""); len(lines) != step.lines || lists.Load() != step.lists ||
				step.lines > 0 && i < 3 && (!strings.Contains(text, free) || !strings.Contains(text, held) || !strings.Contains(text, silent)) {
				t.Errorf("step %d: %d lists, and\n%s", i, lists.Load(), text)
			}
		}
	})
}
