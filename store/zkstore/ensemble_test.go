package zkstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/zkstore"
)

func TestServersThatStandAloneAreNoEnsemble(t *testing.T) {
	t.Parallel()
	c := zkstore.Config{Loss: time.Second, SessionTimeout: sessionTimeout}
	servers := []*testkit.Server{testkit.ZooKeeper(t), testkit.ZooKeeper(t)}
	for _, server := range servers {
		c.Endpoints = append(c.Endpoints, server.Addr())
	}
	s, err := zkstore.Open(t.Context(), c)
	if err == nil {
		t.Fatal(errors.Join(errors.New("opened"), s.Close()))
	}
	if !strings.Contains(err.Error(), "2 of 2 servers stand alone") {
		t.Error(err)
	}
	for _, server := range servers {
		if there, _, err := raw(t, server.Addr()).Exists(zkstore.DefaultPrefix); there || err != nil {
			t.Errorf("the prefix is made: %t, %v", there, err)
		}
	}
}

// TestSwapThatNoMajorityHasIsNotShown leaves the leader alone with a swap that it
// has written to its own log.
func TestSwapThatNoMajorityHasIsNotShown(t *testing.T) {
	t.Parallel()
	servers := testkit.ZooKeeperEnsemble(t, 3)
	leader := testkit.ZooKeeperLeader(t, servers)
	c := config(leader.Addr())
	c.Loss = time.Second // whatever the release
	s := open(t, c)
	version := swap(t, s, "key", "", "before")
	for _, server := range servers {
		if server != leader {
			server.Pause()
		}
	}
	swapped := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Swap(ctx, "key", version, []byte("after"))
		swapped <- err
	}()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if e, err := s.Get(ctx, "key"); err == nil && e.Version != version {
			t.Errorf("the leader shows %q", e.Value)
		}
		cancel()
		select {
		case err := <-swapped:
			if err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("swap without a majority: %v", err)
			}
			return
		default:
		}
	}
}

// What the client sends shows it: an answer without a sync is stale by so little
// that no test can wait for one.
func syncGoesBeforeEachRead(t *testing.T, server *testkit.Server, c zkstore.Config) {
	swap(t, open(t, c), "key", "", "value")
	var mu sync.Mutex
	var sent []byte
	proxy := testkit.NewProxy(t, server.Addr())
	proxy.LoseReplyTo(func(request []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if !bytes.HasPrefix(request, []byte("srvr")) { // has a connection of its own
			sent = bytes.Clone(request)
		}
		return false
	})
	c.Endpoints = []string{proxy.Addr()}
	s := open(t, c)
	for range 2 {
		if _, err := s.Get(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	var verbs []string
	for i := 0; len(sent) >= 4; i++ {
		frame := sent[4 : 4+binary.BigEndian.Uint32(sent)]
		sent = sent[4+len(frame):]
		if i == 0 {
			// It opens the session. One that may be read-only has a byte more.
			if len(frame) != 44 {
				t.Errorf("a session is asked for in %d bytes", len(frame))
			}
			continue
		}
		switch binary.BigEndian.Uint32(frame[4:]) {
		case 4:
			verbs = append(verbs, "get")
		case 9:
			verbs = append(verbs, "sync")
		}
	}
	if n := len(verbs); n < 4 || !slices.Equal(verbs[n-4:], []string{"sync", "get", "sync", "get"}) {
		t.Errorf("two reads are sent as %q", verbs)
	}
}
