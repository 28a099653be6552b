package natsstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

// clusterOf starts three servers that are one, and waits until they are.
func clusterOf(t *testing.T) ([]*testkit.Server, Config) {
	t.Helper()
	servers := testkit.NATSCluster(t, 3)
	c := Config{Loss: time.Second}
	for _, server := range servers {
		c.Endpoints = append(c.Endpoints, server.Addr())
	}
	testkit.Eventually(t, func(context.Context) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s, err := Open(ctx, c)
		if err == nil {
			err = s.Close()
		}
		return err
	})
	return servers, c
}

// TestConformanceOfACluster keeps one bucket on one of three servers, so that
// most connections are to another, and asks for a second one on all three.
// Support and proof of it depend on the servers' version.
func TestConformanceOfACluster(t *testing.T) {
	t.Parallel()
	servers, c := clusterOf(t)
	conforms := func(t *testing.T) {
		storetest.Run(t, storetest.Harness{Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, c) }})
	}
	t.Run("one replica", conforms)
	c.Bucket, c.Replicas = "replicated", 3
	version := raw(t, servers[0].Addr()).Conn().ConnectedServerVersion()
	if atLeast(version, 11) {
		t.Run("three replicas", conforms)
		survivesOneServerAtATime(t, servers, c)
		return
	}
	var refused *ServerError
	if err := servertest.Refusal(t, Open, c); !errors.As(err, &refused) || refused.Value != version {
		t.Errorf("a bucket on three servers of version %s: %v", version, err)
	}
}

// survivesOneServerAtATime kills one server after the other, and goes on as
// soon as the one before has caught up.
func survivesOneServerAtATime(t *testing.T, servers []*testkit.Server, c Config) {
	s := open(t, c)
	version := servertest.Swap(t, s, "survivor", "", "0")
	for i, server := range servers {
		server.Kill()
		value := fmt.Sprint(i + 1)
		testkit.Eventually(t, func(context.Context) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			e, err := s.Get(ctx, "survivor")
			if err == nil && string(e.Value) != value {
				e.Version, err = s.Swap(ctx, "survivor", e.Version, []byte(value))
			}
			version = e.Version
			return err
		})
		server.Start()
		js := raw(t, server.Addr())
		testkit.Eventually(t, func(context.Context) error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			stream, err := js.Stream(ctx, c.stream())
			if err != nil {
				return err
			}
			cluster := stream.CachedInfo().Cluster
			for _, peer := range cluster.Replicas {
				if !peer.Current {
					return fmt.Errorf("%s has not caught up", peer.Name)
				}
			}
			if cluster.Leader == "" || len(cluster.Replicas) != len(servers)-1 {
				return errors.New("the cluster is not whole")
			}
			return nil
		})
	}
	testkit.Eventually(t, func(context.Context) error {
		e, err := s.Get(t.Context(), "survivor")
		if err == nil && (string(e.Value) != "3" || e.Version != version) {
			t.Fatalf("after every server was killed once: %+v", e)
		}
		return err
	})
}
