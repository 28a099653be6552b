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

// A pinned worker with a window of 5 seconds gives each request a sixth of it.
func TestMemberThatIsAwayDoesNotHoldUpWhoOpens(t *testing.T) {
	t.Parallel()
	server := testkit.Etcd(t)
	silent := testkit.NewProxy(t, server.Addr())
	silent.Drop()
	for name, away := range map[string]string{
		"silent": silent.Addr(),
		"closed": fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t)),
	} {
		t.Run(name, func(t *testing.T) {
			// A busy machine may need more than one attempt.
			testkit.Eventually(t, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second/6)
				defer cancel()
				s, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{away, server.Addr()}})
				if err != nil {
					return err
				}
				return s.Close()
			})
		})
	}
}

// A name or a balancer may come to lead to another cluster, a copy for one.
func TestAnswerOfAnotherClusterIsNone(t *testing.T) {
	t.Parallel()
	one, other := testkit.Etcd(t), testkit.Etcd(t)
	proxy := testkit.NewProxy(t, one.Addr())
	s := open(t, etcdstore.Config{Endpoints: []string{proxy.Addr()}})
	version, err := s.Swap(t.Context(), "key", "", []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	proxy.SetTarget(other.Addr())
	proxy.ResetAll()
	for name, call := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"swap":   func(ctx context.Context) error { _, err := s.Swap(ctx, "key", version, nil); return err },
		"create": func(ctx context.Context) error { _, err := s.Swap(ctx, "new", "", nil); return err },
		"list": func(ctx context.Context) error {
			for _, err := range s.List(ctx, "") {
				return err
			}
			return nil
		},
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
	server := testkit.Etcd(t)
	s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}})
	version, err := s.Swap(t.Context(), "key", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	// As etcd does when its own check finds a difference.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server.Addr()+"/v3/maintenance/alarm",
		strings.NewReader(`{"action": "ACTIVATE", "alarm": "CORRUPT"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := testkit.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("raise the alarm: %s, %v", response.Status, err)
	}
	if _, err := s.Swap(t.Context(), "key", version, []byte("after")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap by one that was open: %v", err)
	}
	for _, loss := range []time.Duration{0, time.Second} {
		refused, err := etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: []string{server.Addr()}, Loss: loss})
		if err == nil {
			t.Error(errors.Join(errors.New("opened"), refused.Close()))
		} else if !strings.Contains(err.Error(), "CORRUPT") {
			t.Error(err)
		}
	}
}

func TestEtcdsOwnProxyCachesNoRead(t *testing.T) {
	t.Parallel()
	server := testkit.Etcd(t)
	direct := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}})
	s := open(t, etcdstore.Config{Endpoints: []string{testkit.EtcdProxy(t, server.Addr()).Addr()}})
	var version store.Version
	for n := range 50 {
		next, err := direct.Swap(t.Context(), "key", version, fmt.Append(nil, n))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != next {
			t.Fatalf("swap %d: the proxy shows %q, %v", n, e.Value, err)
		}
		version = next
	}
}

// TestSwapThatNoMajorityHasIsNotShown leaves the leader alone with a swap that it
// has proposed, and reads what the leader itself shows then.
func TestSwapThatNoMajorityHasIsNotShown(t *testing.T) {
	t.Parallel()
	servers := testkit.EtcdCluster(t, 3)
	leader := testkit.EtcdLeader(t.Context(), servers)
	if leader == nil {
		t.Fatal("nobody leads")
	}
	s, direct := open(t, etcdstore.Config{Endpoints: []string{leader.Addr()}}), rawClient(t, leader)
	version, err := s.Swap(t.Context(), "key", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		if server != leader {
			server.Pause()
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	swapped := make(chan error, 1)
	go func() {
		_, err := s.Swap(ctx, "key", version, []byte("after"))
		swapped <- err
	}()
	testkit.Eventually(t, func(ctx context.Context) error { return proposes(ctx, leader) })
	// A read that no majority confirms: this package asks for none.
	response, err := direct.Get(t.Context(), etcdstore.DefaultPrefix+"/key", clientv3.WithSerializable())
	if err != nil || len(response.Kvs) != 1 {
		t.Fatalf("the leader shows %v, %v", response, err)
	}
	if got, want := string(response.Kvs[0].GetValue()), string(version)+"\nbefore"; got != want {
		t.Errorf("the leader shows %q, want %q", got, want)
	}
	select {
	case err := <-swapped:
		t.Fatalf("the swap ended before it was given up: %v", err)
	default:
	}
	giveUp()
	if err := <-swapped; !errors.Is(err, context.Canceled) {
		t.Errorf("swap without a majority: %v", err)
	}
}

// proposes returns an error unless a member waits for others to agree.
func proposes(ctx context.Context, member *testkit.Server) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+member.Addr()+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := testkit.Client().Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if !bytes.Contains(metrics, []byte("\netcd_server_proposals_pending 1\n")) {
		return errors.New("nothing is proposed")
	}
	return nil
}
