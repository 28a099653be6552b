package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for both ends of TLS. It and they are valid from
// an hour ago until an hour from now. Its methods are safe for concurrent use.
type Authority struct {
	File string // its certificate in PEM, until the end of the test

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority that nobody trusts yet. All have the same name: a
// client shows no certificate of an authority that the server does not name as trusted,
// and so would not be refused for it.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	template := validNow("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(t)
	a := &Authority{File: filepath.Join(t.TempDir(), "ca.pem"), certificate: template, key: key}
	der := a.sign(t, template, key)
	var err error
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.File, "CERTIFICATE", der)
	return a
}

// Pool returns a pool that trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue makes a certificate with that common name, and its key, in two PEM files that
// are removed at the end of the test. It stands for a client, and for a server at each
// of the hosts, which are addresses or names.
func (a *Authority) Issue(t testing.TB, name string, hosts ...string) (certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.IssueTo(t, certificate, key, name, hosts...)
	return certificate, key
}

// IssueTo is Issue to the two files given, first the certificate's and then the
// key's. Their content is replaced. Only their owner may read new ones, as
// servers demand of keys.
func (a *Authority) IssueTo(t testing.TB, certificate, key, name string, hosts ...string) {
	t.Helper()
	template := validNow(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		// Still a client's too: etcd shows it when it calls itself.
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	private := newKey(t)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certificate, "CERTIFICATE", a.sign(t, template, private))
	writePEM(t, key, "PRIVATE KEY", secret)
}

// sign returns a certificate of the key in DER. It has a random serial number.
func (a *Authority) sign(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// validNow returns the common part of every certificate.
func validNow(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
