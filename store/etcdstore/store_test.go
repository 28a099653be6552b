package etcdstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/etcdstore"
)

func open(t *testing.T, addresses ...string) *etcdstore.Store {
	t.Helper()
	return servertest.Opened(t, etcdstore.Open, etcdstore.Config{Endpoints: addresses})
}

// opened starts a server, and opens a store and the library's own client on it.
func opened(t *testing.T, arguments ...string) (*testkit.Server, *etcdstore.Store, *clientv3.Client) {
	t.Helper()
	server := testkit.Etcd(t, arguments...)
	return server, open(t, server.Addr()), rawClient(t, server)
}

// cluster starts a cluster, and opens a store on all its members.
func cluster(t *testing.T) (servers []*testkit.Server, leader *testkit.Server, s *etcdstore.Store) {
	t.Helper()
	servers = testkit.EtcdCluster(t, 3)
	var addresses []string
	for _, server := range servers {
		addresses = append(addresses, server.Addr())
	}
	if leader = testkit.EtcdLeader(t.Context(), servers); leader == nil {
		t.Fatal("nobody leads")
	}
	return servers, leader, open(t, addresses...)
}

func TestClusterGoesOnWithoutItsLeader(t *testing.T) {
	servers, leader, s := cluster(t)
	version := servertest.Swap(t, s, "key", "", "0")
	leader.Kill()
	version = servertest.Persist(t, s, "key", version, "without its leader")

	// Without a majority nothing is acknowledged; with it again, it goes on.
	other := servers[0]
	if other == leader {
		other = servers[1]
	}
	other.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Swap(ctx, "key", version, []byte("without a majority")); err == nil {
		t.Error("acknowledged by a minority")
	}
	leader.Start()
	servertest.Persist(t, s, "key", version, "with a majority again")
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

// requireUser lets in only root and the user ids, who may use the prefix.
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
		// A busy server may report that a request timed out, and carry it out all the same.
		testkit.Eventually(t, func(context.Context) error {
			if err := step(); err != nil && !strings.Contains(err.Error(), "already exists") {
				return err
			}
			return nil
		})
	}
}
