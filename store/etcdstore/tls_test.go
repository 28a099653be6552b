package etcdstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestTLSIsVerifiedInBothDirections(t *testing.T) {
	t.Parallel()
	ours, others := testkit.NewAuthority(t), testkit.NewAuthority(t)
	certificate, key := ours.Issue(t, "server", "127.0.0.1")
	server := testkit.EtcdTLS(t, ours.File, certificate, key)
	certificate, key = ours.Issue(t, "client")
	strange, strangeKey := others.Issue(t, "client")
	plain, secure := server.Addr(), server.Address(2)
	with := func(authority, certificate, key string) string {
		return "?ca=" + authority + "&cert=" + certificate + "&key=" + key
	}
	for name, test := range map[string]struct {
		url, want string // want is what the error says; "" is none
	}{
		"etcds":              {url: "etcds://" + secure + "/ids" + with(ours.File, certificate, key)},
		"tls=true":           {url: "etcd://" + secure + "/ids" + with(ours.File, certificate, key) + "&tls=true"},
		"other authority":    {url: "etcds://" + secure + with(others.File, certificate, key), want: "certificate signed by unknown authority"},
		"other name":         {url: "etcds://" + strings.Replace(secure, "127.0.0.1", "localhost", 1) + with(ours.File, certificate, key), want: "localhost"},
		"strange client":     {url: "etcds://" + secure + with(ours.File, strange, strangeKey), want: "balancer error"},
		"no certificate":     {url: "etcds://" + secure + "?ca=" + ours.File, want: "balancer error"},
		"plain to TLS":       {url: "etcd://" + secure, want: "connection"},
		"TLS to plain":       {url: "etcds://" + plain + with(ours.File, certificate, key), want: "authentication handshake failed"},
		"system authorities": {url: "etcds://" + secure, want: "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := etcdstore.ParseURL(test.url)
			if err != nil {
				t.Fatal(err)
			}
			limit := 5 * time.Second
			if test.want != "" {
				limit = 2 * time.Second // a busy machine takes its time to see what is wrong
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			s, err := etcdstore.Open(ctx, c)
			if test.want != "" {
				if err == nil {
					t.Fatal(errors.Join(errors.New("opened"), s.Close()))
				}
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Swap(ctx, strings.ReplaceAll(name, "=", "."), "", []byte("value"))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
