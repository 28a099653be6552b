package etcdstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestTLSIsVerifiedInBothDirections(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	certificate, key := ours.sign(t, "server", net.IPv4(127, 0, 0, 1))
	server := testkit.EtcdTLS(t, ours.file, certificate, key)
	certificate, key = ours.sign(t, "client", nil)
	strange, strangeKey := others.sign(t, "client", nil)
	plain, secure := server.Addr(), server.Address(2)
	with := func(authority, certificate, key string) string {
		return "?ca=" + authority + "&cert=" + certificate + "&key=" + key
	}
	for name, test := range map[string]struct {
		url, want string // want is what the error says; "" is none
	}{
		"etcds":              {url: "etcds://" + secure + "/ids" + with(ours.file, certificate, key)},
		"tls=true":           {url: "etcd://" + secure + "/ids" + with(ours.file, certificate, key) + "&tls=true"},
		"other authority":    {url: "etcds://" + secure + with(others.file, certificate, key), want: "certificate signed by unknown authority"},
		"other name":         {url: "etcds://" + strings.Replace(secure, "127.0.0.1", "localhost", 1) + with(ours.file, certificate, key), want: "localhost"},
		"strange client":     {url: "etcds://" + secure + with(ours.file, strange, strangeKey), want: "balancer error"},
		"no certificate":     {url: "etcds://" + secure + "?ca=" + ours.file, want: "balancer error"},
		"plain to TLS":       {url: "etcd://" + secure, want: "connection"},
		"TLS to plain":       {url: "etcds://" + plain + with(ours.file, certificate, key), want: "authentication handshake failed"},
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
				limit = 400 * time.Millisecond
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

// authority signs certificates.
type authority struct {
	file string
	pair tls.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.pair = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// sign returns the files of a certificate and its key.
func (a authority) sign(t *testing.T, name string, address net.IP) (certificate, private string) {
	t.Helper()
	dir := t.TempDir()
	certificate, private = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if address != nil {
		template.IPAddresses = []net.IP{address}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.pair.Leaf, key.Public(), a.pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certificate, "CERTIFICATE", der)
	writePEM(t, private, "PRIVATE KEY", keyDER)
	return certificate, private
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
