package etcdstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestEndpointsOfTwoClustersAreRefused(t *testing.T) {
	t.Parallel()
	one, other := testkit.Etcd(t), testkit.Etcd(t)
	// On a busy machine one of them may be late, and is not judged then.
	testkit.Eventually(t, func(ctx context.Context) error {
		s, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{one.Addr(), other.Addr()}, Loss: time.Second})
		if err == nil {
			return errors.Join(errors.New("opened"), s.Close())
		}
		if !strings.Contains(err.Error(), "must be of one cluster") {
			t.Fatal(err)
		}
		return nil
	})
}

// A name or a balancer may come to lead to another cluster, a copy for one.
func TestAnswerOfAnotherClusterIsNone(t *testing.T) {
	t.Parallel()
	one, other := testkit.Etcd(t), testkit.Etcd(t)
	proxy := testkit.NewProxy(t, one.Addr())
	s := open(t, proxy.Addr())
	version := servertest.Swap(t, s, "key", "", "value")
	proxy.SetTarget(other.Addr())
	proxy.ResetAll()
	for name, call := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"swap":   func(ctx context.Context) error { _, err := s.Swap(ctx, "key", version, nil); return err },
		"create": func(ctx context.Context) error { _, err := s.Swap(ctx, "new", "", nil); return err },
		"list":   func(ctx context.Context) error { return servertest.Listed(ctx, s, "", nil) },
	} {
		testkit.Eventually(t, func(ctx context.Context) error {
			err := call(ctx)
			if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
				t.Fatalf("%s is answered: %v", name, err)
			}
			if !strings.Contains(err.Error(), "must be of one cluster") {
				return fmt.Errorf("%s: %w", name, err) // the connection was lost
			}
			return nil
		})
	}
	proxy.SetTarget(one.Addr())
	proxy.ResetAll()
	testkit.Eventually(t, func(ctx context.Context) error {
		e, err := s.Get(ctx, "key")
		if err == nil && e.Version != version {
			t.Fatalf("the register is at %s, want %s", e.Version, version)
		}
		return err
	})
}

func TestClusterWhoseMembersDifferIsRefused(t *testing.T) {
	t.Parallel()
	server, s, _ := opened(t)
	version := servertest.Swap(t, s, "key", "", "before")
	// As etcd does when its own check finds a difference.
	if _, err := ask(t.Context(), server, http.MethodPost, "/v3/maintenance/alarm", `{"action": "ACTIVATE", "alarm": "CORRUPT"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), "key", version, []byte("after")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap by one that was open: %v", err)
	}
	for _, loss := range []time.Duration{0, time.Second} {
		err := servertest.Refusal(t, etcdstore.Open, etcdstore.Config{Endpoints: []string{server.Addr()}, Loss: loss})
		if err == nil || !strings.Contains(err.Error(), "CORRUPT") {
			t.Error(err)
		}
	}
}

func TestEtcdsOwnProxyCachesNoRead(t *testing.T) {
	t.Parallel()
	server, direct, _ := opened(t)
	s := open(t, testkit.EtcdProxy(t, server.Addr()).Addr())
	var version store.Version
	for n := range 50 {
		version = servertest.Swap(t, direct, "key", version, fmt.Sprint(n))
		if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
			t.Fatalf("swap %d: the proxy shows %q, %v", n, e.Value, err)
		}
	}
}

// TestSwapThatNoMajorityHasIsNotShown leaves the leader alone with a swap that it
// has proposed, and reads from the leader itself then.
func TestSwapThatNoMajorityHasIsNotShown(t *testing.T) {
	t.Parallel()
	servers, leader, _ := cluster(t)
	direct := rawClient(t, leader)
	servertest.SwapOfALeaderAlone(t, open(t, leader.Addr()), servers, leader, func(ctx context.Context) error {
		metrics, err := ask(ctx, leader, http.MethodGet, "/metrics", "")
		if err == nil && !bytes.Contains(metrics, []byte("\netcd_server_proposals_pending 1\n")) {
			err = errors.New("nothing is proposed")
		}
		return err
	}, func() (string, error) { // by a read without a majority's confirmation: this package leaves them off
		response, err := direct.Get(t.Context(), etcdstore.DefaultPrefix+"/key", clientv3.WithSerializable())
		if err != nil || len(response.Kvs) != 1 {
			return "", fmt.Errorf("%v, %w", response, err)
		}
		return string(response.Kvs[0].GetValue()), nil
	})
}

// ask asks a member by HTTP.
func ask(ctx context.Context, member *testkit.Server, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+member.Addr()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := testkit.Client().Do(request)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return answer, err
}
