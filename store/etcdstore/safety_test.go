package etcdstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestEndpointDoesNotSayWhetherTLSIsSpoken(t *testing.T) {
	server := testkit.Etcd(t)
	for _, scheme := range []string{"http://", "https://", "unix://"} {
		s, err := etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: []string{scheme + server.Addr()}, TLS: &etcdstore.TLS{}})
		if err == nil {
			t.Errorf("%s: opened", scheme)
			_ = s.Close()
		}
	}
}

func TestRegisterThatVanishesWithALeaseIsDamaged(t *testing.T) {
	server := testkit.Etcd(t)
	s, other := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}}), rawClient(t, server)
	if _, err := s.Swap(t.Context(), "key", "", []byte("value")); err != nil {
		t.Fatal(err)
	}
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
	for e, err := range s.List(t.Context(), "") {
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("list: %+v, %v", e, err)
		}
	}
}

func TestTokenThatExpiredIsReplaced(t *testing.T) {
	server := testkit.Etcd(t, "--auth-token-ttl", "1")
	requireUser(t, server)
	s := open(t, etcdstore.Config{Endpoints: []string{server.Addr()}, User: "ids", Password: "ids-hush"})
	version, err := s.Swap(t.Context(), "key", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(2500 * time.Millisecond) // the server looks for what has expired once a second
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Swap(ctx, "key", version, nil); err != nil {
		t.Errorf("swap: %v", err)
	}
	if _, err := s.Get(ctx, "key"); err != nil {
		t.Errorf("get: %v", err)
	}
}
