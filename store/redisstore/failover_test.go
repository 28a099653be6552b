package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

// pair starts a primary, and a replica of it behind a proxy.
func pair(t *testing.T, arguments ...string) (primary *testkit.Server, replication *testkit.Proxy, replica *testkit.Server) {
	t.Helper()
	primary = testkit.Redis(t, arguments...)
	replication = testkit.NewProxy(t, primary.Addr())
	return primary, replication, testkit.RedisReplica(t, replication.Addr())
}

// promote makes a replica take the place of its primary.
func promote(t *testing.T, primary, replica *testkit.Server) {
	t.Helper()
	primary.Kill()
	command(t, replica, "REPLICAOF NO ONE")
}

func TestSeveralEndpointsAreTriedUntilAPrimaryAnswers(t *testing.T) {
	primary := testkit.Redis(t)
	replica := testkit.RedisReplica(t, primary.Addr())
	c := at(replica.Addr(), "127.0.0.1:1", primary.Addr())
	c.Loss = redisstore.DefaultLoss
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "before")
	replicated(t, primary, replica)
	// An endpoint that hangs costs only the call that found out.
	primary.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Get(ctx, "key"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get: %v", err)
	}
	command(t, replica, "REPLICAOF NO ONE")
	version = servertest.Persist(t, s, "key", version, "after")
	if got := command(t, replica, "GET snowfence:register:key"); got != "1 "+string(version)+" after" {
		t.Errorf("the promoted replica holds %q", got)
	}
	primary.Kill()
	servertest.Swap(t, s, "key", version, "at last")
}

func TestSentinelNamesThePrimary(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	replica := testkit.RedisReplica(t, primary.Addr())
	sentinel := testkit.RedisSentinel(t, "main", primary)
	c := redisstore.Config{Endpoints: []string{"127.0.0.1:1", sentinel.Addr()}, Sentinel: "main", Loss: redisstore.DefaultLoss}
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "before")
	replicated(t, primary, replica)
	// It must know of the replica before it can choose it.
	testkit.Eventually(t, func(context.Context) error {
		_, err := testkit.RedisCall(t.Context(), sentinel.Addr(), "SENTINEL CKQUORUM main")
		if err == nil && commandCalls(t, replica, "publish") == 0 {
			err = errors.New("the Sentinel has not found the replica")
		}
		return err
	})
	primary.Kill()
	servertest.Persist(t, s, "key", version, "after")
	for _, name := range []string{"", "unknown"} { // taken for a server, and asked for another primary
		_ = servertest.Refusal(t, redisstore.Open, redisstore.Config{Endpoints: []string{sentinel.Addr()}, Sentinel: name})
	}
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
