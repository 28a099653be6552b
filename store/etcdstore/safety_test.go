package etcdstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestEndpointDoesNotSayWhetherTLSIsSpoken(t *testing.T) {
	server := testkit.Etcd(t)
	for _, scheme := range []string{"http://", "https://", "unix://"} {
		_ = servertest.Refusal(t, etcdstore.Open, etcdstore.Config{Endpoints: []string{scheme + server.Addr()}, TLS: &etcdstore.TLS{}})
	}
}

func TestRegisterThatVanishesWithALeaseIsDamaged(t *testing.T) {
	_, s, other := opened(t)
	servertest.Swap(t, s, "key", "", "value")
	lease, err := other.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Put(t.Context(), "snowfence/key", "", clientv3.WithIgnoreValue(), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %+v, %v", e, err)
	}
	if err := servertest.Listed(t.Context(), s, "", nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("list: %v", err)
	}
}

func TestTokenThatExpiredIsReplaced(t *testing.T) {
	server := testkit.Etcd(t, "--auth-token-ttl", "1")
	requireUser(t, server)
	s := servertest.Opened(t, etcdstore.Open, etcdstore.Config{Endpoints: []string{server.Addr()}, User: "ids", Password: "ids-hush"})
	version := servertest.Swap(t, s, "key", "", "")
	<-time.After(2500 * time.Millisecond) // the server looks for expired keys once a second
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Swap(ctx, "key", version, nil); err != nil {
		t.Errorf("swap: %v", err)
	}
	if _, err := s.Get(ctx, "key"); err != nil {
		t.Errorf("get: %v", err)
	}
}

func TestAnswerOfEtcdIsBounded(t *testing.T) {
	_, s, raw := opened(t)
	for _, key := range []string{"a", "b", "c"} {
		if _, err := raw.Put(t.Context(), "snowfence/"+key, strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := servertest.Listed(t.Context(), s, "", nil); err == nil || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("list of 3 MiB: %v", err)
	}
}
