package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var clientIDs = flag.Int("client.ids", 40_000, "ids that the test of clients whose servers are killed collects at the least, for each way to get them")

// newPair returns two daemons of one store, which are not started yet, and their RESP addresses. The arguments are for both.
func newPair(t *testing.T, arguments ...string) (p [2]*subject, addresses []string) {
	t.Helper()
	arguments = append(arguments, "--data", t.TempDir())
	for i := range p {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t)))
		p[i] = newSubject(t, i, append(slices.Clip(arguments), "--resp", addresses[i])...)
	}
	return p, addresses
}

// Eight goroutines share a client. While they get ids, the server in use is killed, and started again
// while they get more from the other. Then that one is killed.
func TestClientOutlivesServersThatAreKilled(t *testing.T) {
	t.Parallel()
	const goroutines, kills = 8, 3
	p, addresses := newPair(t)
	for _, s := range p {
		s.start().WaitReady()
	}
	quota := int64(*clientIDs / (kills + 1)) // of ids after each kill
	for _, way := range []struct {
		name   string
		config client.Config
		batch  int // the most ids of a call
	}{
		{"next", client.Config{}, 1},
		{"fill", client.Config{}, 100},
		{"prefetch", client.Config{Prefetch: 10_000}, 1},
	} {
		t.Run(way.name, func(t *testing.T) {
			way.config.Servers = addresses
			c := newClient(t, way.config)
			ids := make([][]snowfence.ID, goroutines)
			var longest [goroutines]time.Duration
			for kill := range kills + 1 {
				var left atomic.Int64
				var group sync.WaitGroup
				left.Store(quota)
				if kill > 0 {
					left.Store(math.MaxInt64)
					group.Go(func() {
						victim := p[(kill-1)%len(p)]
						victim.current().Kill()
						left.Store(quota)
						victim.start().WaitReady()
					})
				}
				for g := range goroutines {
					group.Go(func() {
						batch := make([]snowfence.ID, way.batch)
						for n := 1; left.Load() > 0; n = n%way.batch + 1 {
							began := time.Now()
							err := take(t.Context(), c, batch[:n])
							longest[g] = max(longest[g], time.Since(began))
							if err != nil {
								t.Error(err)
								return
							}
							ids[g] = append(ids[g], batch[:n]...)
							left.Add(-int64(n))
						}
					})
				}
				group.Wait()
			}
			all := slices.Concat(ids...)
			if err := countertest.Distinct(all); err != nil {
				t.Error(err)
			}
			// A killed daemon's worker id rests, so each daemon has one of its own.
			workers := map[int64]bool{}
			for _, id := range all {
				parts, err := snowfence.DefaultLayout().Decompose(id)
				if err != nil {
					t.Fatal(err)
				}
				workers[parts.Worker] = true
			}
			if len(workers) != kills+1 {
				t.Errorf("ids of %d daemons, want %d: not each kill was of the server in use", len(workers), kills+1)
			}
			t.Logf("%d ids, %d kills, the longest call took %s", len(all), kills, slices.Max(longest[:]))
		})
	}
}

// take gets one id by Next, or several by Fill.
func take(ctx context.Context, c *client.Client, ids []snowfence.ID) (err error) {
	if len(ids) > 1 {
		return c.Fill(ctx, ids)
	}
	ids[0], err = c.Next(ctx)
	return err
}

func newClient(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestClientOfOneDaemonGetsGreaterIDsByLaterCalls(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--data", t.TempDir())
	var total atomic.Int64
	inOrder(t, client.Config{Servers: []string{d.Address("redis")}}, &total, func() bool { return total.Load() < 30_000 })
}

// Each daemon of a namespace without worker bits is killed once while it gives ids, and the other
// one stands by.
func TestClientOfAStandbyGetsGreaterIDsByLaterCalls(t *testing.T) {
	t.Parallel()
	p, addresses := newPair(t, "--config", strictConfig(t), "--store", "file:"+t.TempDir())
	p[0].start().WaitReady()
	p[1].start()
	var total atomic.Int64
	var over atomic.Bool
	ended := make(chan time.Duration)
	go func() {
		cfg := client.Config{Servers: addresses, Strict: true, MaxWait: time.Minute}
		ended <- inOrder(t, cfg, &total, func() bool { return !over.Load() })
	}()
	defer func() {
		over.Store(true)
		t.Logf("%d ids in order, the longest call took %s", total.Load(), <-ended)
	}()
	more := func() {
		want := total.Load() + 2000
		testkit.Eventually(t, func(context.Context) error {
			if total.Load() < want {
				return errors.New("no more ids come")
			}
			return nil
		})
	}
	for _, s := range p {
		more()
		s.current().Kill()
		s.start()
	}
	more()
}

// inOrder has 16 goroutines call Next for as long as they shall, and holds each id to be above the ids
// of all calls that ended before its call began. It returns how long the longest call took.
func inOrder(t *testing.T, cfg client.Config, total *atomic.Int64, goOn func() bool) time.Duration {
	c := newClient(t, cfg)
	var newest atomic.Int64 // of the calls that have ended
	var longest [16]time.Duration
	var group sync.WaitGroup
	for g := range longest {
		group.Go(func() {
			for goOn() {
				before, began := newest.Load(), time.Now()
				id, err := c.Next(t.Context())
				longest[g] = max(longest[g], time.Since(began))
				if err != nil || int64(id) <= before {
					t.Errorf("%d after %d, %v", id, before, err)
					return
				}
				total.Add(1)
				for old := newest.Load(); old < int64(id) && !newest.CompareAndSwap(old, int64(id)); old = newest.Load() {
				}
			}
		})
	}
	group.Wait()
	return slices.Max(longest[:])
}

const standbyWindow = time.Second // of the configuration in docs/order.md

// strictConfig is a file with the configuration that docs/order.md shows.
func strictConfig(t *testing.T) string {
	t.Helper()
	config := block(t, "order.md", "yaml\n")
	if !strings.Contains(config, "window: "+standbyWindow.String()) {
		t.Fatalf("docs/order.md has no configuration with a window of %s", standbyWindow)
	}
	_, config, _ = strings.Cut(config, "\n") // its store is a flag here
	return written(t, config)
}
