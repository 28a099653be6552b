package etcdstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

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
	version = servertest.Persist(t, s, "key", version, "without its leader")

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
	servertest.Persist(t, s, "key", version, "with a majority again")
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

func rawClient(t *testing.T, server *testkit.Server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
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
		// A busy server may say that a request timed out, and carry it out all the same.
		testkit.Eventually(t, func(context.Context) error {
			if err := step(); err != nil && !strings.Contains(err.Error(), "already exists") {
				return err
			}
			return nil
		})
	}
}
