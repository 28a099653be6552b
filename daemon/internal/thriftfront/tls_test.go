package thriftfront

import (
	"crypto/tls"
	"path/filepath"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/testkit"
)

func TestCertificateStandsForAToken(t *testing.T) {
	folder, authority := t.TempDir(), testkit.NewAuthority(t)
	at := func(name string) string { return filepath.Join(folder, name) }
	authority.IssueTo(t, at("c.pem"), at("k.pem"), "any", "127.0.0.1")
	certificate, err := tls.LoadX509KeyPair(at("c.pem"), at("k.pem"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, nil, limits)
	guarded := service.Config{Settings: fronttest.Settings(t), Tokens: fronttest.Ring(t, "Correct-horse-battery")}
	f.config.Service = fronttest.Service(t, guarded, map[string]kind.Minter{"default": new(counting)})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, ClientCAs: authority.Pool(), ClientAuth: tls.VerifyClientCertIfGiven,
	})
	if err != nil {
		t.Fatal(err)
	}
	fronttest.Serve(t, f, l)
	for _, shown := range [][]tls.Certificate{{certificate}, nil} {
		dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool(), Certificates: shown}}
		conn, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := dialect{true, false}.over(t, thrift.NewTSocketFromConnConf(conn, nil))
		if shown == nil {
			c.wantFault("get_id", "a", thrift.INTERNAL_ERROR, "invalid-token: ")
			c.wantFault("get_worker_id", "a", thrift.INTERNAL_ERROR, "invalid-token: ")
		} else if id, err := c.call("get_id", "a"); err != nil || id != 1 {
			t.Errorf("with a certificate: id %d, %v", id, err)
		}
		_ = conn.Close()
	}
}
