package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

// TestSwapIsNeverRepeated looks at what the server was sent: the client library
// repeats a request three times unless told otherwise, after each of these.
func TestSwapIsNeverRepeated(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{proxy.Addr()}})
	loadScript(t, s)
	tests := []struct {
		name       string
		begin, end func()
	}{
		{"it is refused for want of replicas",
			func() { command(t, server, "CONFIG SET min-replicas-to-write 1") },
			func() { command(t, server, "CONFIG SET min-replicas-to-write 0") }},
		{"it is refused for want of memory",
			func() { command(t, server, "CONFIG SET maxmemory 1") },
			func() { command(t, server, "CONFIG SET maxmemory 0") }},
		{"the server has become a replica",
			func() { command(t, server, "REPLICAOF 127.0.0.1 1") },
			func() { command(t, server, "REPLICAOF NO ONE") }},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key := fmt.Sprint(i)
			test.begin()
			before := commandCalls(t, server, "evalsha")
			_, err := s.Swap(t.Context(), key, "", []byte("once"))
			if err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("the swap returned %v", err)
			}
			if calls := commandCalls(t, server, "evalsha") - before; calls != 1 {
				t.Errorf("the server was sent %d swaps", calls)
			}
			test.end()
			testkit.Eventually(t, func(context.Context) error {
				if _, err := s.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("the swap that was refused: %w", err)
				}
				return nil
			})
		})
	}
}

func TestForgottenScriptIsSentOnceMoreAndTakesEffectOnce(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{proxy.Addr()}})
	version := swap(t, s, "key", "", "first") // a fresh server knows no script
	loadScript(t, s)

	forget := func() (sets, evals, shas int) {
		command(t, server, "SCRIPT FLUSH")
		return commandCalls(t, server, "set"), commandCalls(t, server, "eval"), commandCalls(t, server, "evalsha")
	}
	check := func(sets, evals, shas int) {
		t.Helper()
		if n := commandCalls(t, server, "set") - sets; n != 1 {
			t.Errorf("the register was written %d times", n)
		}
		if n := commandCalls(t, server, "eval") - evals; n != 1 {
			t.Errorf("EVAL was sent %d times", n)
		}
		if n := commandCalls(t, server, "evalsha") - shas; n != 1 {
			t.Errorf("EVALSHA was sent %d times", n)
		}
	}
	sets, evals, shas := forget()
	version = swap(t, s, "key", version, "second")
	check(sets, evals, shas)

	// And when the reply to the second attempt is lost, there is no third.
	sets, evals, shas = forget()
	lost := proxy.LoseReplyTo(sends("eval"))
	if _, err := s.Swap(t.Context(), "key", version, []byte("third")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("a swap whose reply was lost: %v", err)
	}
	<-lost
	check(sets, evals, shas)
	if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "third" || e.Version == version {
		t.Errorf("the register is %+v, %v", e, err)
	}
}

func TestSeveralEndpointsAreTriedUntilAPrimaryAnswers(t *testing.T) {
	primary := testkit.Redis(t)
	replica := testkit.RedisReplica(t, primary.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{replica.Addr(), "127.0.0.1:1", primary.Addr()}, Loss: redisstore.DefaultLoss})
	version := swap(t, s, "key", "", "before")
	replicated(t, primary, replica)

	// An endpoint that hangs costs the call that found out, and no more.
	primary.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Get(ctx, "key"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get: %v", err)
	}
	command(t, replica, "REPLICAOF NO ONE")
	testkit.Eventually(t, func(context.Context) (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		next, err := s.Swap(ctx, "key", version, []byte("after"))
		if errors.Is(err, store.ErrConflict) {
			// Perhaps an earlier one took effect, and its reply came too late.
			e, readErr := s.Get(ctx, "key")
			if readErr == nil && string(e.Value) == "after" {
				next, err = e.Version, nil
			}
		}
		if err == nil {
			version = next
		}
		return err
	})
	if got := command(t, replica, "GET snowfence:register:key"); got != "1 "+string(version)+" after" {
		t.Errorf("the promoted replica holds %q", got)
	}
	primary.Kill()
	swap(t, s, "key", version, "at last")
}

func TestSentinelNamesThePrimary(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	replica := testkit.RedisReplica(t, primary.Addr())
	sentinel := testkit.RedisSentinel(t, "main", primary)
	s := open(t, redisstore.Config{Endpoints: []string{"127.0.0.1:1", sentinel.Addr()}, Sentinel: "main", Loss: redisstore.DefaultLoss})
	version := swap(t, s, "key", "", "before")
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
	testkit.Eventually(t, func(context.Context) error {
		_, err := s.Swap(t.Context(), "key", version, []byte("after"))
		return err
	})
	if _, err := redisstore.Open(t.Context(), redisstore.Config{Endpoints: []string{sentinel.Addr()}}); err == nil {
		t.Error("a Sentinel is taken for a server")
	}
	if _, err := redisstore.Open(t.Context(), redisstore.Config{Endpoints: []string{sentinel.Addr()}, Sentinel: "unknown"}); err == nil {
		t.Error("a primary that no Sentinel knows was found")
	}
}
