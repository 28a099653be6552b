//go:build servers

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// chaosNames are the engines of the chaos test. A lossy one has two servers. Kubernetes takes part only where it is asked
// for by its name: "make test-kubernetes" builds its server.
func chaosNames() []string {
	names := slices.Concat(testkit.EngineNames(), testkit.PairNames())
	if *chaosEngines == "kubernetes" {
		names = append(names, *chaosEngines)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func chaosEngine(t *testing.T, name string) (testkit.Engine, *testkit.Pair) {
	t.Helper()
	if slices.Contains(testkit.PairNames(), name) {
		return testkit.StartPair(t, name)
	}
	return testkit.StartEngine(t, name), nil
}

// restart ends the server of the engine, the primary of two, or the one behind, and starts it again.
func (c *chaos) restart(behind bool, end func(*testkit.Server), random *rand.Rand) {
	c.server.Lock()
	defer c.server.Unlock()
	server := c.engine.Server
	switch {
	case behind:
		server = c.engine.Behind
	case c.pair != nil:
		server = c.pair.Primary
	}
	end(server)
	pause(c.t.Context(), between(random, 0, 2*chaosWindow))
	if err := server.TryStart(); err != nil {
		c.t.Errorf("start the server again: %v\n%s", err, server.Log())
	}
}

// failing is the failover of a lossy engine, and nothing for others. It is tried again where it took
// nothing away: by chance, or because the primary died too late.
func (c *chaos) failing() []trouble {
	if c.pair == nil {
		return nil
	}
	return []trouble{{"failover", func(_ *subject, random *rand.Rand) {
		lost, err, began := 0, error(nil), time.Now()
		for lost == 0 && err == nil && time.Since(began) < testkit.Hang {
			// The last tenths are for looking, and for the death of the primary.
			lost, err = c.failOver(between(random, chaosLoss*4/10, chaosLoss*8/10))
		}
		if err != nil {
			c.t.Errorf("failover: %v\n%s", err, c.pair.Primary.Log())
		}
	}}}
}

// failOver kills the primary and promotes a standby that lacks the writes of about the time of lag:
// never more than is declared. It counts lost writes by reads: the ones that the old primary showed
// after the standby was cut off.
func (c *chaos) failOver(lag time.Duration) (lost int, err error) {
	c.server.Lock()
	defer c.server.Unlock()
	ctx := c.t.Context()
	old, err := openstore.Open(ctx, c.engine.URL(c.pair.Primary.Addr(), chaosLoss))
	if err != nil {
		return 0, err
	}
	defer func() { _ = old.Close() }() // its server is dead
	if err := awaitWrite(ctx, old); err != nil {
		return 0, err
	}
	since, err := c.pair.Part(ctx)
	if err != nil {
		return 0, err
	}
	earlier, shown := writes{}, writes{}
	for err = earlier.read(ctx, old); err == nil && time.Since(since) < lag; err = shown.read(ctx, old) {
		pause(ctx, 5*time.Millisecond)
	}
	c.pair.Primary.Kill()
	late := time.Since(since) >= chaosLoss
	if err != nil || late {
		if late {
			c.late++
		}
		return 0, errors.Join(err, c.pair.Mend())
	}
	if err := c.pair.Promote(ctx); err != nil {
		return 0, err
	}
	address := c.pair.Primary.Addr()
	promoted, err := openstore.Open(ctx, c.engine.URL(address, chaosLoss))
	if err != nil {
		return 0, err
	}
	err = earlier.read(ctx, promoted)
	for _, s := range c.subjects {
		s.proxy.SetTarget(address)
	}
	lost = shown.without(earlier)
	c.lost = append(c.lost, lost)
	return lost, errors.Join(err, promoted.Close(), c.pair.Rejoin())
}

// awaitWrite waits until the daemons write: after an earlier fault they may have to connect first.
func awaitWrite(ctx context.Context, s store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	before, now := writes{}, writes{}
	err := before.read(ctx, s)
	for err == nil && now.without(before) == 0 {
		pause(ctx, 5*time.Millisecond)
		err = now.read(ctx, s)
	}
	return err
}

// writes are the writes that a store has shown, by their versions.
type writes map[string]bool

func (w writes) read(ctx context.Context, s store.Store) error {
	for e, err := range s.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list registers: %w", err)
		}
		w[e.Key+" "+string(e.Version)] = true
	}
	return nil
}

// without returns how many of w are not among others.
func (w writes) without(others writes) (n int) {
	for write := range w {
		if !others[write] {
			n++
		}
	}
	return n
}

// judgeFailovers expects that the failovers have lost something, or they prove nothing.
func (c *chaos) judgeFailovers() {
	if c.pair == nil {
		return
	}
	c.t.Logf("%s: failovers took %d acknowledged writes away; %d were called off, because the standby lacked writes of %s", c.engine.Name, c.lost, c.late, chaosLoss)
	if slices.Max(append(c.lost, 0)) == 0 {
		c.t.Error("no failover took an acknowledged write away")
	}
}
