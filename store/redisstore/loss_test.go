package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

const (
	lossWindow = 3 * time.Second
	lossLoss   = 900 * time.Millisecond
	lossWorker = 7
)

// TestPromotedReplicaThatLacksTheLastWrites fails over to a replica that did
// not get the last acknowledged extension, while the holder that made it can't
// reach the store. Whoever claims the worker id then knows of the bound before.
// So ids repeat if the holder has used the last bound at once, and none does if
// it has waited for longer than what can be lost.
func TestPromotedReplicaThatLacksTheLastWrites(t *testing.T) {
	t.Parallel()
	t.Run("repeats ids where durable was asserted falsely", func(t *testing.T) {
		t.Parallel()
		f := failOver(t, redisstore.Config{Durable: true})
		if f.before.until <= f.after.floor {
			t.Errorf("the first holder's ticks end at %d, the second's begin at %d: they do not overlap", f.before.until, f.after.floor)
		}
		if f.repeated == 0 {
			t.Error("no id was repeated: the loss is not shown")
		}
	})
	t.Run("repeats none within the declared loss", func(t *testing.T) {
		t.Parallel()
		f := failOver(t, redisstore.Config{Loss: lossLoss})
		for tries := 1; f.lag > lossLoss && tries < 3; tries++ {
			f = failOver(t, redisstore.Config{Loss: lossLoss})
		}
		if f.lag > lossLoss {
			t.Fatalf("the replica lacked %s of writes, more than the declared %s: the machine is too slow for this test", f.lag, lossLoss)
		}
		if f.before.until > f.after.floor {
			t.Errorf("the first holder's ticks end at %d, the second's begin at %d: they overlap", f.before.until, f.after.floor)
		}
		if f.repeated != 0 {
			t.Errorf("%d ids were repeated", f.repeated)
		}
	})
}

// TestHolderGoesOnAfterAFailoverThatLostItsLastWrite is about a holder that
// reaches the promoted replica by its list of endpoints.
func TestHolderGoesOnAfterAFailoverThatLostItsLastWrite(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	replication := testkit.NewProxy(t, primary.Addr())
	replica := testkit.RedisReplica(t, replication.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{primary.Addr(), replica.Addr()}, Loss: lossLoss})
	h := hold(t, s, "holder")
	replicated(t, primary, replica)
	replication.Drop()
	lost := awaitWrite(t, s, stored.RegisterKey(stored.DefaultNamespace, lossLayout(), lossWorker))
	primary.Kill()
	command(t, replica, "REPLICAOF NO ONE")

	// Ticks from here on need a bound that the promoted replica has taken.
	testkit.Eventually(t, func(context.Context) error {
		id, err := h.Next(t.Context())
		if err != nil {
			return err
		}
		parts, err := lossLayout().Decompose(id)
		if err == nil && parts.Tick < lost.Until {
			err = fmt.Errorf("it stamps tick %d", parts.Tick)
		}
		return err
	})
}

// failover is what a failover did.
type failover struct {
	lag           time.Duration // the replica lacks what was written in this last time
	before, after struct {      // the ticks of the holders before and after
		floor, until snowfence.Tick
	}
	repeated int // ids that both of them issued
}

// failOver runs two holders of one worker id over stores of a config, one
// before a failover that loses an acknowledged extension and one after it.
func failOver(t *testing.T, c redisstore.Config) failover {
	t.Helper()
	primary := testkit.Redis(t)
	replication := testkit.NewProxy(t, primary.Addr())
	replica := testkit.RedisReplica(t, replication.Addr())
	network := testkit.NewProxy(t, primary.Addr()) // the first holder's
	key := stored.RegisterKey(stored.DefaultNamespace, lossLayout(), lossWorker)

	c.Endpoints = []string{network.Addr()}
	first := hold(t, open(t, c), "first")
	firstIDs := issue(t, first)
	c.Endpoints = []string{primary.Addr(), replica.Addr()}
	second := open(t, c)

	// The replica has a bound that is used already: it was extended before.
	until := first.Status().Until
	testkit.Eventually(t, func(context.Context) error {
		if first.Status().Until == until {
			return errors.New("the bound that is used has not moved")
		}
		return nil
	})
	kept := awaitWrite(t, second, key)
	replicated(t, primary, replica)
	// The next extension comes a third of the window after this one. Shortly
	// before it, the replica is cut off.
	elapse(t, lossWindow/3-400*time.Millisecond)
	begun := time.Now()
	replication.Drop()
	lost := awaitWrite(t, second, key)
	if lost.Until <= kept.Until {
		t.Fatalf("the bound was not extended, from %d to %d", kept.Until, lost.Until)
	}
	if c.Durable {
		// The acknowledgement reaches the holder, too.
		testkit.Eventually(t, func(context.Context) error {
			if got := first.Status().Until; got != lost.Until {
				return fmt.Errorf("the holder uses ticks up to %d", got)
			}
			return nil
		})
	}
	network.Drop()
	primary.Kill()
	f := failover{lag: time.Since(begun)}
	command(t, replica, "REPLICAOF NO ONE")
	if got := register(t, second, key); got.Until != kept.Until {
		t.Fatalf("the promoted replica knows of the bound %d, want %d", got.Until, kept.Until)
	}

	// The second holder waits for the ticks that the replica knows of to pass.
	h := hold(t, second, "second")
	f.after.floor = h.Status().Floor
	secondIDs := issue(t, h)
	testkit.Eventually(t, func(context.Context) error {
		if now := lossLayout().TickAt(time.Now()); now < lost.Until+100 {
			return fmt.Errorf("it is tick %d", now)
		}
		return nil
	})
	seen := make(map[snowfence.ID]bool)
	for _, id := range firstIDs() {
		parts, err := lossLayout().Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		f.before.until = max(f.before.until, parts.Tick+1)
		seen[id] = true
	}
	issued := secondIDs()
	for _, id := range issued {
		if seen[id] {
			f.repeated++
		}
	}
	f.after.until = h.Status().Until
	if len(seen) == 0 || len(issued) == 0 {
		t.Fatalf("the holders issued %d and %d ids", len(seen), len(issued))
	}
	t.Logf("writes of %s were lost; the first issued %d ids up to tick %d, the second %d from %d on, %d of them again",
		f.lag.Round(time.Millisecond), len(seen), f.before.until, len(issued), f.after.floor, f.repeated)
	return f
}

// lossLayout has so few ids a tick that holders use each tick up: if two stamp
// the same tick, they issue the same id.
func lossLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 2},
	}
	return l
}

func hold(t *testing.T, s *redisstore.Store, host string) *fence.Holder {
	t.Helper()
	worker := int64(lossWorker)
	h, err := fence.Open(t.Context(), fence.Config{
		Store: s, Layout: lossLayout(), Worker: &worker, Window: lossWindow, Process: fence.Process{Host: host, PID: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = h.Close(ctx) // the first can't reach its store
	})
	return h
}

// issue takes ids from a holder, as many as it gives, until the function that
// it returns is called, which returns them.
func issue(t *testing.T, h *fence.Holder) func() []snowfence.ID {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ids []snowfence.ID
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			// An error means that there are none now.
			if id, err := h.Next(ctx); err == nil {
				ids = append(ids, id)
			}
		}
	})
	stop := func() []snowfence.ID {
		cancel()
		done.Wait()
		return ids
	}
	t.Cleanup(func() { stop() })
	return stop
}

// awaitWrite waits for the next write of a register that moves its bound.
func awaitWrite(t *testing.T, s *redisstore.Store, key string) stored.Register {
	t.Helper()
	before := register(t, s, key)
	after := before
	testkit.Eventually(t, func(context.Context) error {
		if after = register(t, s, key); after.Until == before.Until {
			return errors.New("the register was not extended")
		}
		return nil
	})
	return after
}

func register(t *testing.T, s *redisstore.Store, key string) stored.Register {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stored.DecodeRegister(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// elapse waits for a while on the real clock, on which servers run.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
