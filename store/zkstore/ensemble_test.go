package zkstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/zkstore"
)

// refusal returns why the servers are refused. On a busy machine one may answer too
// late to be judged, so it tries again, with another prefix each time.
func refusal(t *testing.T, c *zkstore.Config) (refused error) {
	t.Helper()
	attempts := 0
	testkit.Eventually(t, func(ctx context.Context) error {
		attempts++
		c.Prefix = fmt.Sprintf("/attempt-%d", attempts)
		s, err := zkstore.Open(ctx, *c)
		if err == nil {
			return errors.Join(errors.New("opened"), s.Close())
		}
		refused = err
		return nil
	})
	return refused
}

func TestServersThatStandAloneAreNoEnsemble(t *testing.T) {
	t.Parallel()
	c := zkstore.Config{Loss: time.Second, SessionTimeout: sessionTimeout}
	servers := []*testkit.Server{testkit.ZooKeeper(t), testkit.ZooKeeper(t)}
	for _, server := range servers {
		c.Endpoints = append(c.Endpoints, server.Addr())
	}
	if err := refusal(t, &c); !strings.Contains(err.Error(), "2 of 2 servers stand alone") {
		t.Error(err)
	}
	for _, server := range servers {
		if there, _, err := raw(t, server.Addr()).Exists(c.Prefix); there || err != nil {
			t.Errorf("the prefix is made: %t, %v", there, err)
		}
	}
}

// A leader that was replaced may not know it for a while. Here one leader answers
// at two addresses, and later at one of them a follower does.
func TestSecondLeaderIsAskedAgain(t *testing.T) {
	t.Parallel()
	servers := testkit.ZooKeeperEnsemble(t, 3)
	leader := testkit.ZooKeeperLeader(t, servers)
	follower := servers[slices.IndexFunc(servers, func(s *testkit.Server) bool { return s != leader })]
	proxy := testkit.NewProxy(t, leader.Addr())
	c := config(leader.Addr())
	c.Endpoints = append(c.Endpoints, proxy.Addr())
	c.Loss = time.Second // whatever the release
	if err := refusal(t, &c); !strings.Contains(err.Error(), "2 servers lead: all endpoints must be of one ensemble") {
		t.Error(err)
	}
	proxy.LoseReplyTo(func(request []byte) bool {
		if bytes.HasPrefix(request, []byte("srvr")) {
			go proxy.SetTarget(follower.Addr())
		}
		return false
	})
	open(t, c)
}

// TestSwapThatNoMajorityHasIsNotShown leaves the leader alone with a swap that it
// has taken, and reads from the leader itself then.
func TestSwapThatNoMajorityHasIsNotShown(t *testing.T) {
	t.Parallel()
	servers := testkit.ZooKeeperEnsemble(t, 3)
	leader := testkit.ZooKeeperLeader(t, servers)
	c := config(leader.Addr())
	c.Loss = time.Second            // whatever the release
	direct := raw(t, leader.Addr()) // reads without the sync that goes before each read of this package
	servertest.SwapOfALeaderAlone(t, open(t, c), servers, leader, func(ctx context.Context) error {
		text, err := testkit.ZooKeeperWord(ctx, leader.Addr(), "srvr")
		if err == nil && !strings.Contains(text, "Outstanding: 1\n") {
			err = fmt.Errorf("nothing is under way: %s", text)
		}
		return err
	}, func() (string, error) {
		data, _, err := direct.Get(find(t, direct, zkstore.DefaultPrefix, "key"))
		return string(data), err
	})
}

// The client's requests show it: an answer without a sync is stale by so little
// that no test can wait for one.
func syncGoesBeforeEachRead(t *testing.T, server *testkit.Server, c zkstore.Config) {
	servertest.Swap(t, open(t, c), "key", "", "value")
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
