package testkit_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// leaf reads a certificate whose key must fit it.
func leaf(t *testing.T, certificate, key string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestCertificateStandsForItsHostsAndItsAuthorityAlone(t *testing.T) {
	ours, others := testkit.NewAuthority(t), testkit.NewAuthority(t)
	certificate, key := ours.Issue(t, "server", "127.0.0.1", "localhost")
	server := leaf(t, certificate, key)
	certificate, key = ours.Issue(t, "client")
	client := leaf(t, certificate, key)
	for _, test := range []struct {
		name        string
		certificate *x509.Certificate
		authority   *testkit.Authority
		usage       x509.ExtKeyUsage
		host        string // "" is any
		good        bool
	}{
		{"server at an address", server, ours, x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		{"server at a name", server, ours, x509.ExtKeyUsageServerAuth, "localhost", true},
		{"server at another address", server, ours, x509.ExtKeyUsageServerAuth, "127.0.0.2", false},
		{"server at another name", server, ours, x509.ExtKeyUsageServerAuth, "elsewhere", false},
		{"server of another authority", server, others, x509.ExtKeyUsageServerAuth, "127.0.0.1", false},
		{"server as client", server, ours, x509.ExtKeyUsageClientAuth, "", true},
		{"client", client, ours, x509.ExtKeyUsageClientAuth, "", true},
		{"client of another authority", client, others, x509.ExtKeyUsageClientAuth, "", false},
		{"client as server", client, ours, x509.ExtKeyUsageServerAuth, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.certificate.Verify(x509.VerifyOptions{
				Roots: test.authority.Pool(), DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage},
			})
			if (err == nil) != test.good {
				t.Errorf("the verdict is %v, want good %t", err, test.good)
			}
		})
	}
	if server.Subject.CommonName != "server" || client.Subject.CommonName != "client" {
		t.Errorf("they are in the names of %q and %q", server.Subject.CommonName, client.Subject.CommonName)
	}
}

func TestAuthoritysFileHoldsWhatItsPoolTrusts(t *testing.T) {
	authority := testkit.NewAuthority(t)
	content, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) || !pool.Equal(authority.Pool()) {
		t.Errorf("the file holds something else:\n%s", content)
	}
}

func TestCertificateIsReplacedInItsFiles(t *testing.T) {
	authority, dir := testkit.NewAuthority(t), t.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for _, name := range []string{"a name that is longer", "first", "second"} {
		authority.IssueTo(t, certificate, key, name)
		if got := leaf(t, certificate, key).Subject.CommonName; got != name {
			t.Errorf("the certificate is of %q, want %q", got, name)
		}
	}
	for _, path := range []string{certificate, key} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); mode != 0o600 {
			t.Errorf("%s has mode %v, want that only its owner may read it", path, mode)
		}
	}
}
