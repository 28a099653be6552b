package listen

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/internal/testkit"
)

var limits = config.Limits{Connections: 10}

// certify writes a certificate for 127.0.0.1 in the name of someone, and its
// key, and returns a pool that trusts its authority, a new one each time.
func certify(t *testing.T, files config.TLS, name string) *x509.CertPool {
	t.Helper()
	authority := testkit.NewAuthority(t)
	authority.IssueTo(t, files.Certificate, files.Key, name, "127.0.0.1")
	return authority.Pool()
}

// handshake connects and returns the name in the certificate that is shown.
func handshake(t *testing.T, l net.Listener, trusted *x509.CertPool) string {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.(*tls.Conn).HandshakeContext(t.Context())
		}
		served <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	state := c.ConnectionState()
	if state.NegotiatedProtocol != "h2" {
		t.Errorf("protocol is %q, want h2", state.NegotiatedProtocol)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return state.PeerCertificates[0].Subject.CommonName
}

func TestRenewedCertificateNeedsNoRestart(t *testing.T) {
	folder := t.TempDir()
	files := config.TLS{Certificate: filepath.Join(folder, "c.pem"), Key: filepath.Join(folder, "k.pem")}
	trusted := certify(t, files, "first")
	l, err := Open(t.Context(), config.Config{TLS: files, Limits: limits}, Front{Address: "127.0.0.1:0", Protocols: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if name := handshake(t, l, trusted); name != "first" {
		t.Errorf("certificate is of %q, want first", name)
	}

	// While the two files don't fit each other, the one before is shown.
	key, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	renewed := certify(t, files, "second, renewed") // another length, whatever the file system's clock does
	fitting, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.Key, append(key, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if name := handshake(t, l, trusted); name != "first" {
		t.Errorf("half renewed: certificate is of %q, want first", name)
	}
	if err := os.WriteFile(files.Key, fitting, 0o600); err != nil {
		t.Fatal(err)
	}
	if name := handshake(t, l, renewed); name != "second, renewed" {
		t.Errorf("renewed: certificate is of %q", name)
	}
}

func TestCertificateMustBeThereAtStart(t *testing.T) {
	files := config.TLS{Certificate: "/nowhere/c.pem", Key: "/nowhere/k.pem"}
	if l, err := Open(t.Context(), config.Config{TLS: files, Limits: limits}, Front{Address: "127.0.0.1:0", Protocols: []string{"h2"}}); err == nil {
		t.Errorf("listens on %s without a certificate", l.Addr())
	}
}

func TestFileThatCanNotBeUsedNamesItsKey(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	good := config.TLS{Certificate: at("c.pem"), Key: at("k.pem")}
	certify(t, good, "good")
	other := config.TLS{Certificate: at("other-c.pem"), Key: at("other-k.pem")}
	certify(t, other, "other")
	if err := os.WriteFile(at("short"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		settings config.Config
		want     []string
	}{
		{config.Config{TLS: good}, nil},
		{config.Config{TLS: config.TLS{Certificate: at("none"), Key: good.Key}}, []string{"tls.certificate"}},
		{config.Config{TLS: config.TLS{Certificate: good.Certificate, Key: at("none")}}, []string{"tls.key"}},
		{config.Config{TLS: config.TLS{Certificate: good.Certificate, Key: folder}}, []string{"tls.key"}},
		{config.Config{TLS: config.TLS{Certificate: good.Certificate, Key: other.Key}}, []string{"tls.certificate"}},
		{config.Config{TLS: config.TLS{Certificate: at("short"), Key: good.Key}, TokenFile: at("short")}, []string{"tls.certificate", "token-file"}},
		{config.Config{TokenFile: at("none")}, []string{"token-file"}},
	} {
		var keys []string
		for _, fault := range config.Faults(Check(c.settings)) {
			keys = append(keys, fault.Key)
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%+v, token %q: blames %q, want %q: %v", c.settings.TLS, c.settings.TokenFile, keys, c.want, Check(c.settings))
		}
	}
}

func TestAddressInUseIsAnErrorThatNamesIt(t *testing.T) {
	l, err := Open(t.Context(), config.Config{Limits: limits}, Front{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Open(t.Context(), config.Config{Limits: limits}, Front{Key: "resp", Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "set resp") {
		t.Errorf("error is %v, must name %s", err, l.Addr())
	}
}
