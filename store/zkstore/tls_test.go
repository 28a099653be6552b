package zkstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/zkstore"
)

func TestTLSNeedsTheRightCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := issue(t, dir, "authority", nil)
	issue(t, dir, "server", authority)
	issue(t, dir, "client", authority)
	foreign := issue(t, dir, "foreign", nil)
	issue(t, dir, "stranger", foreign)

	port := testkit.FreePort(t)
	testkit.ZooKeeper(t,
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		fmt.Sprintf("secureClientPort=%d", port), "secureClientPortAddress=127.0.0.1",
		"ssl.keyStore.type=PEM", "ssl.keyStore.location="+filepath.Join(dir, "server.both.pem"),
		"ssl.trustStore.type=PEM", "ssl.trustStore.location="+filepath.Join(dir, "authority.cert.pem"),
		"ssl.hostnameVerification=false",
	)
	query := func(ca, who string) string {
		return fmt.Sprintf("zookeeper://localhost:%d/secure?tls=true&ca=%s&cert=%s&key=%s&session-timeout=2s", port,
			filepath.Join(dir, ca+".cert.pem"), filepath.Join(dir, who+".cert.pem"), filepath.Join(dir, who+".key.pem"))
	}
	c, err := zkstore.ParseURL(query("authority", "client"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	version := swap(t, s, "key", "", "value")
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get: %+v, %v", e, err)
	}
	for name, u := range map[string]string{
		"a server of another authority": query("foreign", "client"),
		"a client of another authority": query("authority", "stranger"),
		"no TLS":                        fmt.Sprintf("zookeeper://localhost:%d/secure", port),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			c, err := zkstore.ParseURL(u)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := zkstore.Open(ctx, c); err == nil {
				t.Error("a session is granted")
			}
		})
	}
}

// issued is a certificate with its key.
type issued struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue makes a certificate for localhost that an authority signs, or itself,
// and writes it to files: its certificate, its key, and both.
func issue(t *testing.T, dir, name string, authority *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, IsCA: authority == nil,
	}
	if authority == nil {
		authority = &issued{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.certificate, &key.PublicKey, authority.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for kind, content := range map[string][]byte{"cert": certPEM, "key": keyPEM, "both": append(keyPEM, certPEM...)} {
		if err := os.WriteFile(filepath.Join(dir, name+"."+kind+".pem"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &issued{certificate, key}
}
