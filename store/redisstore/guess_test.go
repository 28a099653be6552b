package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

// TestReplicaThatJoinsARunningStoreHasAGrace is about a loss that is the default,
// and a replica that comes while the store is open and that nothing bounds.
func TestReplicaThatJoinsARunningStoreHasAGrace(t *testing.T) {
	t.Parallel()
	for replicas, name := range []string{"the first of a lone server", "the second, where one must answer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			joins(t, replicas)
		})
	}
}

// joins lets a replica join a server whose replicas must all answer.
func joins(t *testing.T, replicas int) {
	t.Helper()
	primary := testkit.Redis(t)
	require := func(n int) { command(t, primary, fmt.Sprint("CONFIG SET min-replicas-to-write ", n)) }
	for range replicas {
		testkit.RedisReplica(t, primary.Addr())
	}
	require(replicas)
	counted(t, primary, replicas)
	c := at(primary.Addr())
	s := open(t, c)
	var log bytes.Buffer // written by calls of this test alone
	s.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "say loss= before you add a replica") {
		t.Errorf("at its start the store warns %q", w)
	}

	var version store.Version
	refused := func(when, said string, want bool) {
		t.Helper()
		command(t, primary, "CLIENT KILL TYPE normal") // the next connection judges the server again
		next, err := s.Swap(t.Context(), "key", version, []byte("value"))
		var unfit *redisstore.ServerError
		if got := errors.As(err, &unfit); got != want || !got && err != nil {
			t.Fatalf("%s: the error is %v", when, err)
		}
		if err == nil {
			version = next
		}
		lines := strings.Count(log.String(), "\n")
		if said == "" && lines > 0 || said != "" && (lines != 1 || !strings.Contains(log.String(), said)) {
			t.Errorf("%s: the log is %q, want %q in it, once", when, &log, said)
		}
		log.Reset()
	}
	testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, replicas+1)
	refused("joined", "level=ERROR", false)
	refused("joined a while ago", "", false)
	s.Age(redisstore.Grace - time.Minute)
	refused("joined nine minutes ago", "", false)
	s.Age(time.Minute)
	refused("joined ten minutes ago", "", true)
	if _, err := redisstore.Open(t.Context(), c); err == nil {
		t.Error("a store that is not open yet has a grace")
	}
	require(replicas + 1)
	refused("must answer as well", "bounded again", false)
	require(replicas)
	refused("need not answer any more", "level=ERROR", false)
}

// TestServerThatMustHaveReplicasRefusesWritesAfterItsPromotion shows the cost of the advice in a
// refusal: the promoted replica has none itself.
func TestServerThatMustHaveReplicasRefusesWritesAfterItsPromotion(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	replica := testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, 1)
	c := at(primary.Addr(), replica.Addr())
	var unfit *redisstore.ServerError
	if _, err := redisstore.Open(t.Context(), c); !errors.As(err, &unfit) ||
		!strings.Contains(unfit.Reason, "refuses writes while one is missing, as after a failover") || !strings.Contains(unfit.Reason, "loss=") {
		t.Fatalf("the error leaves out the cost of its advice: %v", err)
	}
	for _, server := range []*testkit.Server{primary, replica} {
		command(t, server, "CONFIG SET min-replicas-to-write 1")
	}
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "value")
	replicated(t, primary, replica)
	promote(t, primary, replica)
	testkit.Eventually(t, func(ctx context.Context) error {
		_, err := s.Swap(ctx, "key", version, []byte("value"))
		if err == nil {
			t.Fatal("the promoted server accepts a write without a replica")
		}
		if !strings.Contains(err.Error(), "NOREPLICAS") {
			return err
		}
		return nil
	})
	testkit.RedisReplica(t, replica.Addr())
	counted(t, replica, 1)
	testkit.Eventually(t, func(ctx context.Context) error {
		_, err := s.Swap(ctx, "key", version, []byte("value"))
		return err
	})
}
