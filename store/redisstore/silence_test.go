package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

// silenceRuns is how many failovers there are at once with the default loss. They
// wait most of the time.
const silenceRuns = 20

// TestDefaultLossOutlastsAPrimaryWhoseReplicaFellSilent is about a primary that
// stops when its replica does not answer, everything else at its default. The
// replica falls silent when a worker id is claimed, at the beginning of a second of
// the server's; the primary dies when it has confirmed the claim, or will not; and
// the replica, which knows of neither, is promoted. The primary accepts writes for
// more than ten seconds after it lost its replica, and a loss of ten is not enough.
func TestDefaultLossOutlastsAPrimaryWhoseReplicaFellSilent(t *testing.T) {
	t.Parallel()
	var starting sync.Mutex
	var control sync.WaitGroup
	control.Go(func() { repeatsWithTenSeconds(t, &starting) })
	atOnce(t, "the default repeats none", silenceRuns, func(t *testing.T) {
		if f := fallSilent(t, &starting, redisstore.Config{}); f.repeated > 0 {
			t.Errorf("%d of %d ids were repeated", f.repeated, f.issued)
		}
	})
	control.Wait()
}

// repeatsWithTenSeconds shows the danger. Most runs do; where the machine is so busy
// that claims are confirmed too late, another round may.
func repeatsWithTenSeconds(t *testing.T, starting *sync.Mutex) {
	t.Helper()
	var repeated atomic.Int64
	for range 4 {
		atOnce(t, "ten seconds repeat some", silenceRuns/4, func(t *testing.T) {
			// This user may not see what the loss is compared with.
			f := fallSilent(t, starting, redisstore.Config{Loss: 10 * time.Second, User: "blind", Password: "blind"})
			repeated.Add(int64(f.repeated))
		})
		if repeated.Load() > 0 {
			return
		}
	}
	t.Error("no id was repeated with a loss of ten seconds: the danger is not shown")
}

// atOnce runs tests at once. Parallel ones would be as many as there are processors.
func atOnce(t *testing.T, name string, n int, run func(*testing.T)) {
	t.Helper()
	var runs sync.WaitGroup
	for range n {
		runs.Go(func() { t.Run(name, run) })
	}
	runs.Wait()
}

// silence is what came of a replica that fell silent.
type silence struct {
	issued   int // ids of both holders
	repeated int // of those, ids that both issued
}

// fallSilent runs two holders of one worker id, before and after a failover.
func fallSilent(t *testing.T, starting *sync.Mutex, c redisstore.Config) silence {
	t.Helper()
	primary, replication, replica := startPair(t, starting)
	network := testkit.NewProxy(t, primary.Addr()) // the first holder's
	c.Endpoints = []string{network.Addr()}
	before := open(t, c)
	traits, err := before.Traits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found(t, before)
	replicated(t, primary, replica)

	testkit.Eventually(t, func(ctx context.Context) error {
		now, err := before.Now(ctx)
		if err == nil && now.Nanosecond() > int(50*time.Millisecond) {
			err = fmt.Errorf("it is %v", now)
		}
		return err
	})
	replication.Drop()
	begun := time.Now()
	first := holdAndIssue(t, before, "first")
	elapse(t, 8*time.Second)
	accepted := refuses(t, primary).Sub(begun)
	// Whether the claim is confirmed is decided a moment after it is old enough.
	elapse(t, traits.Loss+1500*time.Millisecond-time.Since(begun))
	claimed := register(t, before, stored.RegisterKey(stored.DefaultNamespace, lossLayout(), lossWorker))
	network.Drop()
	primary.Kill()
	command(t, replica, "REPLICAOF NO ONE")

	c.Endpoints = []string{replica.Addr()}
	second := holdAndIssue(t, open(t, c), "second")
	testkit.Eventually(t, func(context.Context) error {
		if second.issued.Load() == 0 {
			return errors.New("the second holder issues nothing")
		}
		return nil
	})
	elapse(t, 3*time.Second)
	firstIDs, secondIDs := first.stop(), second.stop()
	result := silence{issued: len(firstIDs) + len(secondIDs)}
	for _, id := range firstIDs {
		if _, also := slices.BinarySearch(secondIDs, id); also {
			result.repeated++
		}
	}
	t.Logf("the primary accepted writes for %.2f s, a claim up to tick %d among them; with a loss of %s the holders issued %d and %d ids, %d of them equal",
		accepted.Seconds(), claimed.Until, traits.Loss, len(firstIDs), len(secondIDs), result.repeated)
	return result
}

// startPair starts a primary, and a replica of it behind a proxy: one pair after the
// other, or tests beside these would find the machine busy.
func startPair(t *testing.T, starting *sync.Mutex) (primary *testkit.Server, replication *testkit.Proxy, replica *testkit.Server) {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	primary = testkit.Redis(t, "--min-replicas-to-write", "1")
	replication = testkit.NewProxy(t, primary.Addr())
	replica = testkit.RedisReplica(t, replication.Addr())
	for _, server := range []*testkit.Server{primary, replica} {
		command(t, server, "ACL SETUSER blind on >blind ~* +@all -config")
	}
	counted(t, primary, 1)
	return primary, replication, replica
}

// found makes the namespace, so long ago that no claim waits for it.
func found(t *testing.T, s *redisstore.Store) {
	t.Helper()
	record, err := stored.Namespace{
		Layout: lossLayout().String(), Incarnation: strings.Repeat("5", 32), Created: time.Now().Add(-time.Hour),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	swap(t, s, stored.NamespaceKey(stored.DefaultNamespace), "", string(record))
}

// refuses returns when the server refuses writes because its replica is silent.
func refuses(t *testing.T, server *testkit.Server) time.Time {
	t.Helper()
	testkit.Eventually(t, func(ctx context.Context) error {
		_, err := testkit.RedisCall(ctx, server.Addr(), "SET other value")
		if err == nil {
			return errors.New("it accepts writes")
		}
		if strings.HasPrefix(err.Error(), "NOREPLICAS") {
			return nil
		}
		return err
	})
	return time.Now()
}

// issuing is a holder that issues ids.
type issuing struct {
	issued *atomic.Int64         // how many it has issued
	stop   func() []snowfence.ID // ends it, and returns them in ascending order
}

// holdAndIssue claims the worker id with the default window and issues as many
// ids as there are, beside the test.
func holdAndIssue(t *testing.T, s *redisstore.Store, host string) issuing {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var issued atomic.Int64
	var ids []snowfence.ID
	go func() {
		defer close(ended)
		worker := int64(lossWorker)
		var log bytes.Buffer // the holder's, until Open has failed
		h, err := fence.Open(ctx, fence.Config{
			Store: s, Layout: lossLayout(), Worker: &worker, Window: lease.DefaultWindow, Process: fence.Process{Host: host, PID: 1},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			// Only a claim that was written and never confirmed proves anything.
			waits := fmt.Sprintf("waiting until the store can't lose the claim of worker %d any more", worker)
			if !errors.Is(err, context.Canceled) || !strings.Contains(log.String(), waits) {
				t.Errorf("the %s holder failed otherwise than by waiting for its claim to be confirmed until its end: %v\n%s", host, err, &log)
			}
			return
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_ = h.Close(ctx) // the first can't reach its store
		}()
		batch := make([]snowfence.ID, 50*lossLayout().Sequences())
		for ctx.Err() == nil {
			// An error means that there are none now.
			if h.Fill(ctx, batch) == nil {
				ids = append(ids, batch...)
				issued.Store(int64(len(ids)))
			}
		}
	}()
	stop := func() []snowfence.ID {
		cancel()
		<-ended
		return ids
	}
	t.Cleanup(func() { stop() })
	return issuing{issued: &issued, stop: stop}
}
