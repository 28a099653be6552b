package etcdstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
	"snowfence.example/snowfence/store/storetest"
)

func opener(addresses ...string) func(context.Context) (store.Store, error) {
	return func(ctx context.Context) (store.Store, error) {
		return etcdstore.Open(ctx, etcdstore.Config{Endpoints: addresses})
	}
}

func open(t *testing.T, c etcdstore.Config) *etcdstore.Store {
	t.Helper()
	s, err := etcdstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestEtcdKeepsEveryRule(t *testing.T) {
	if address, ok := testkit.External("ETCD"); ok {
		storetest.Run(t, storetest.Harness{Open: opener(address)})
		return
	}
	server := testkit.Etcd(t)
	proxy := testkit.NewProxy(t, server.Addr())
	storetest.Run(t, storetest.Harness{
		Open: opener(server.Addr()),
		Restart: func(context.Context) error {
			server.Kill()
			return server.TryStart()
		},
		Snapshot: func(context.Context) (func(context.Context) error, error) { return server.Snapshot("data") },
		OpenLossy: func(ctx context.Context) (store.Store, func(), error) {
			s, err := opener(proxy.Addr())(ctx)
			// The suite's values say which round it is, and only swaps hold them.
			return s, func() {
				proxy.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte("round ")) })
			}, err
		},
	})
}

func TestEtcdKeepsEveryRuleUnderFaults(t *testing.T) {
	storetest.RunFaulty(t, storetest.Harness{Open: opener(testkit.Etcd(t).Addr())})
}

func TestSwapIsSentOnceThoughItsReplyIsLost(t *testing.T) {
	server := testkit.Etcd(t)
	proxy := testkit.NewProxy(t, server.Addr())
	direct, s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}}), open(t, etcdstore.Config{Endpoints: []string{proxy.Addr()}})
	prev, err := s.Swap(t.Context(), "key", "", []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	lost := proxy.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte("second")) })
	if _, err := s.Swap(t.Context(), "key", prev, []byte("second")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v", err)
	}
	<-lost
	// Two swaps were carried out, and none was tried after them: a repeated one
	// would have been refused, and would count as a read of the key.
	e, err := direct.Get(t.Context(), "key")
	if err != nil || string(e.Value) != "second" {
		t.Fatalf("the register holds %q, %v", e.Value, err)
	}
	if puts := puts(t, server, "snowfence/key"); puts != 2 {
		t.Errorf("the key was put %d times, want 2", puts)
	}
	if _, err := s.Swap(t.Context(), "key", e.Version, []byte("third")); err != nil {
		t.Errorf("the client does not go on: %v", err)
	}
}

func TestClientOutlivesItsServer(t *testing.T) {
	server := testkit.Etcd(t)
	s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}})
	version, err := s.Swap(t.Context(), "key", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Swap(short, "key", version, []byte("lost")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("without a server: %v", err)
	}
	server.Start()
	late, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Swap(late, "key", version, []byte("after")); err != nil {
		t.Errorf("after its return: %v", err)
	}
}

// requests are one of each kind, by name.
func requests(s *etcdstore.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"get":  func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"swap": func(ctx context.Context) error { _, err := s.Swap(ctx, "key", "", nil); return err },
		"list": func(ctx context.Context) error {
			for _, err := range s.List(ctx, "") {
				return err
			}
			return nil
		},
	}
}

func TestCallsEndWithTheirContextWhenTheServerIsSilent(t *testing.T) {
	server := testkit.Etcd(t)
	s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}})
	server.Pause()
	defer server.Resume()
	for name, call := range requests(s) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begun := time.Now()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(begun))
		}
		cancel()
	}
	// Closing ends what still waits.
	ended := make(chan error, 1)
	go func() { _, err := s.Get(context.WithoutCancel(t.Context()), "key"); ended <- err }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call under way: %v", err)
	}
}

func TestClusterGoesOnWithoutItsLeader(t *testing.T) {
	servers := testkit.EtcdCluster(t, 3)
	var addresses []string
	for _, server := range servers {
		addresses = append(addresses, server.Addr())
	}
	s := open(t, etcdstore.Config{Endpoints: addresses})
	swap := func(prev store.Version, value string) (store.Version, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return s.Swap(ctx, "key", prev, []byte(value))
	}
	version, err := swap("", "0")
	if err != nil {
		t.Fatal(err)
	}
	leader := testkit.EtcdLeader(t.Context(), servers)
	if leader == nil {
		t.Fatal("nobody leads")
	}
	leader.Kill()
	version = persist(t, s, version, "without its leader")

	// Without a majority nothing is acknowledged; with it again, it goes on.
	other := servers[0]
	if other == leader {
		other = servers[1]
	}
	other.Kill()
	if _, err := swap(version, "without a majority"); err == nil {
		t.Error("acknowledged by a minority")
	}
	leader.Start()
	persist(t, s, version, "with a majority again")
}

// persist swaps until it is acknowledged, in the manner of a careful user.
func persist(t *testing.T, s *etcdstore.Store, version store.Version, value string) store.Version {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for late.Err() == nil {
		ctx, cancel := context.WithTimeout(late, time.Second)
		next, err := s.Swap(ctx, "key", version, []byte(value))
		if err == nil {
			cancel()
			return next
		}
		// It may have taken effect, or an earlier one may have.
		if e, err := s.Get(ctx, "key"); err == nil {
			if string(e.Value) == value {
				cancel()
				return e.Version
			}
			version = e.Version
		}
		cancel()
	}
	t.Fatalf("%s: not acknowledged", value)
	return ""
}

func TestTwoPrefixesDoNotSeeEachOther(t *testing.T) {
	server := testkit.Etcd(t)
	prefixes := []string{"", "a", "a/b", "snowfence/a"}
	for i, prefix := range prefixes {
		s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}, Prefix: prefix})
		// A prefix below another one is as a folder below another: a list of the
		// outer one shows both.
		if _, err := s.Swap(t.Context(), "key", "", fmt.Append(nil, i)); err != nil {
			t.Fatalf("prefix %q: %v", prefix, err)
		}
		if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != fmt.Sprint(i) {
			t.Errorf("prefix %q: %+v, %v", prefix, e, err)
		}
	}
}

func TestReaderWritesNothing(t *testing.T) {
	server := testkit.Etcd(t)
	s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}})
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	for e, err := range s.List(t.Context(), "") {
		t.Errorf("list: %+v, %v", e, err)
	}
	// The first revision is that of a cluster without a write.
	if all, err := rawClient(t, server).Get(t.Context(), "\x00", clientv3.WithFromKey()); err != nil || all.Count != 0 || all.Header.GetRevision() != 1 {
		t.Errorf("the cluster has %+v now, %v", all, err)
	}
}

func TestWhatThisPackageDidNotWriteIsDamaged(t *testing.T) {
	server := testkit.Etcd(t)
	s, raw := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}}), rawClient(t, server)
	for _, value := range []string{"", "text", strings.Repeat("a", 32), strings.Repeat("A", 32) + "\n", strings.Repeat("g", 32) + "\nvalue", strings.Repeat("a", 32) + "\n" + strings.Repeat("v", store.MaxValue+1)} {
		if _, err := raw.Put(t.Context(), "snowfence/key", value); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%.40q: get: %v", value, err)
		}
		if _, err := s.Swap(t.Context(), "key", "", nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%.40q: swap: %v", value, err)
		}
		var listed error
		for _, err := range s.List(t.Context(), "") {
			listed = err
		}
		if !errors.Is(listed, store.ErrDamaged) {
			t.Errorf("%.40q: list: %v", value, listed)
		}
	}
}

func TestListReadsPageByPage(t *testing.T) {
	server := testkit.Etcd(t)
	s, raw := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}}), rawClient(t, server)
	const n = 1001
	for from := 0; from < n; from += 100 {
		var puts []clientv3.Op
		for i := from; i < min(from+100, n); i++ {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("snowfence/k/%d", i), strings.Repeat("a", 32)+"\n"+fmt.Sprint(i)))
		}
		if _, err := raw.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for e, err := range s.List(t.Context(), "k/") {
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.Key] || e.Key != "k/"+string(e.Value) {
			t.Errorf("%q with %q, seen: %t", e.Key, e.Value, seen[e.Key])
		}
		seen[e.Key] = true
	}
	if len(seen) != n {
		t.Errorf("%d registers, want %d", len(seen), n)
	}
}

func TestRightsOnThePrefixAreEnough(t *testing.T) {
	server := testkit.Etcd(t)
	requireUser(t, server)
	config := etcdstore.Config{Endpoints: []string{server.Addr()}, User: "ids", Password: "ids-hush"}
	s := open(t, config)
	if _, err := s.Swap(t.Context(), "key", "", nil); err != nil {
		t.Error(err)
	}
	for _, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
	}
	for name, change := range map[string]func(*etcdstore.Config){
		"no user":        func(c *etcdstore.Config) { c.User, c.Password = "", "" },
		"wrong password": func(c *etcdstore.Config) { c.Password = "other-hush" },
		"other prefix":   func(c *etcdstore.Config) { c.Prefix = "elsewhere" },
	} {
		c := config
		change(&c)
		refused, err := etcdstore.Open(t.Context(), c)
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = refused.Close()
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

func TestOpenEndsSoonWhenNobodyAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))}})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1") || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

func rawClient(t *testing.T, server *testkit.Server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// puts counts how often a key was put.
func puts(t *testing.T, server *testkit.Server, key string) int64 {
	t.Helper()
	response, err := rawClient(t, server).Get(t.Context(), key)
	if err != nil || len(response.Kvs) != 1 {
		t.Fatalf("%v, %v", response, err)
	}
	return response.Kvs[0].GetVersion()
}

// requireUser lets in nobody but root and the user ids, who may use the prefix.
func requireUser(t *testing.T, server *testkit.Server) {
	t.Helper()
	raw := rawClient(t, server)
	end := clientv3.GetPrefixRangeEnd("snowfence/")
	for _, step := range []func() error{
		func() error { _, err := raw.UserAdd(t.Context(), "root", "root-hush"); return err },
		func() error { _, err := raw.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := raw.RoleAdd(t.Context(), "ids"); return err },
		func() error {
			_, err := raw.RoleGrantPermission(t.Context(), "ids", "snowfence/", end, clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := raw.UserAdd(t.Context(), "ids", "ids-hush"); return err },
		func() error { _, err := raw.UserGrantRole(t.Context(), "ids", "ids"); return err },
		func() error { _, err := raw.AuthEnable(t.Context()); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}
