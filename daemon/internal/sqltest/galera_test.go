//go:build servers

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestSwapsOnTwoGaleraNodesExcludeEachOther counts on two nodes of a cluster at
// once, with a durable store on each. A node may show an older version; a swap
// that is guarded by it fails when the cluster certifies it.
func TestSwapsOnTwoGaleraNodesExcludeEachOther(t *testing.T) {
	t.Parallel()
	var cluster string
	node := func(arguments ...string) *testkit.Server {
		address := func() string { return fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t)) }
		group := address()
		arguments = append(arguments, "--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so", "--binlog-format=ROW", "--log-slave-updates",
			"--wsrep-cluster-address=gcomm://"+cluster, "--wsrep-node-address="+group, "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+address(),
			"--wsrep-provider-options=gmcast.listen_addr=tcp://"+group+";ist.recv_addr="+address())
		server := testkit.MariaDB(t, arguments...)
		cluster = group
		return server
	}
	nodes := []*testkit.Server{node(), node()}

	const rounds = 100
	clients := make([]store.Store, len(nodes))
	for i, server := range nodes {
		testkit.Eventually(t, func(ctx context.Context) (err error) {
			clients[i], err = openstore.Open(ctx, mariaDB.on(server).url("durable=true"))
			return err
		})
		t.Cleanup(func() { _ = clients[i].Close() })
	}
	var counting sync.WaitGroup
	var late atomic.Int64
	for _, client := range clients {
		counting.Go(func() {
			for n := 0; n < rounds; {
				e, err := client.Get(t.Context(), "counter")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
					return
				}
				before, _ := strconv.Atoi(string(e.Value))
				// A conflict, or a deadlock: the other one was first. Nothing is lost here,
				// so every outcome is known.
				if _, err := client.Swap(t.Context(), "counter", e.Version, []byte(strconv.Itoa(before+1))); err == nil {
					n++
				} else {
					late.Add(1)
				}
			}
		})
	}
	counting.Wait()
	if late.Load() == 0 {
		t.Error("no swap came second: the nodes were not used at once")
	}
	t.Logf("%d swaps came first, %d second", len(nodes)*rounds, late.Load())
	for i, client := range clients {
		testkit.Eventually(t, func(ctx context.Context) error {
			e, err := client.Get(ctx, "counter")
			if err == nil && string(e.Value) != strconv.Itoa(len(nodes)*rounds) {
				err = fmt.Errorf("node %d has counted to %s, want %d", i, e.Value, len(nodes)*rounds)
			}
			return err
		})
	}

	// A node that is taken out of the cluster is a store of its own.
	alone := mariaDB.on(nodes[1])
	do(t, alone.admin(t), "SET GLOBAL wsrep_on = OFF")
	refused(t, alone.url("loss=1m"), "wsrep_on is OFF")
}
