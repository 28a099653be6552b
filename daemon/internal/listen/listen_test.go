package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
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

// pair is a new certificate with its key, in a folder of its own, and a pool that trusts it.
func pair(t *testing.T, name string) (config.TLS, *x509.CertPool) {
	t.Helper()
	folder := t.TempDir()
	files := config.TLS{Certificate: filepath.Join(folder, "c.pem"), Key: filepath.Join(folder, "k.pem")}
	return files, certify(t, files, name)
}

// certificates are such a pair, as a listener has it.
func certificates(t *testing.T) (*Certificates, config.TLS) {
	t.Helper()
	files, _ := pair(t, "first")
	c, err := NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c, files
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

// open listens with certificates until the test ends.
func open(t *testing.T, files config.TLS) net.Listener {
	t.Helper()
	c, err := NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), Front{Address: "127.0.0.1:0", Protocols: []string{"h2"}, Certificates: c, Room: NewRoom(limits, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestRenewedCertificateNeedsNoRestart(t *testing.T) {
	files, trusted := pair(t, "first")
	l := open(t, files)
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

func TestEndOfACertificateIsThatOfTheFileNow(t *testing.T) {
	c, files := certificates(t)
	for range 2 {
		pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		c.Again()
		if shown := c.latest().Certificates[0].Leaf; !c.Ends().Equal(pair.Leaf.NotAfter) || shown.SerialNumber.Cmp(pair.Leaf.SerialNumber) != 0 {
			t.Errorf("ends at %s, want %s", c.Ends(), pair.Leaf.NotAfter)
		}
		certify(t, files, "second, renewed")
	}
}

func TestFileThatCanNotBeUsedNamesItsKey(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	good, _ := pair(t, "good")
	other, _ := pair(t, "other")
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
	l, err := Open(t.Context(), Front{Room: NewRoom(limits, 0), Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Open(t.Context(), Front{Room: NewRoom(limits, 0), Key: "resp", Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "set resp") {
		t.Errorf("error is %v, must name %s", err, l.Addr())
	}
}

func TestClientWithoutACertificateOfTheAuthorityIsRefused(t *testing.T) {
	files, trusted := pair(t, "server")
	clients, strangers := testkit.NewAuthority(t), testkit.NewAuthority(t)
	files.ClientCA = clients.File
	l := open(t, files)
	shown := func(a *testkit.Authority) []tls.Certificate {
		pair, err := tls.LoadX509KeyPair(a.Issue(t, "client"))
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{pair}
	}
	for name, c := range map[string]struct {
		certificates []tls.Certificate
		ok           bool
	}{"none": {nil, false}, "a stranger's": {shown(strangers), false}, "a client's": {shown(clients), true}} {
		served := make(chan error, 1)
		go func() {
			accepted, err := l.Accept()
			if err == nil {
				err = accepted.(*tls.Conn).HandshakeContext(t.Context())
				_ = accepted.Close()
			}
			served <- err
		}()
		if conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted, Certificates: c.certificates}); err == nil {
			_ = conn.Close()
		}
		if err := <-served; (err == nil) != c.ok {
			t.Errorf("a client that shows %s: %v", name, err)
		}
	}
}

func TestClientOfAnAuthorityThatIsGoneCannotResume(t *testing.T) {
	files, trusted := pair(t, "server")
	before := testkit.NewAuthority(t)
	files.ClientCA = before.File
	l := open(t, files)
	pair, err := tls.LoadX509KeyPair(before.Issue(t, "client"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	for round := range 2 {
		served := make(chan error, 1)
		go func() {
			accepted, err := l.Accept()
			if err == nil {
				_, err = accepted.Write([]byte("a")) // the session's ticket comes before it
				_ = accepted.Close()
			}
			served <- err
		}()
		conn, err := tls.Dial("tcp", l.Addr().String(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Read(make([]byte, 1))
		if conn.ConnectionState().DidResume {
			t.Errorf("connection %d resumes a session", round)
		}
		_ = conn.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// counted counts the reports of a listener.
type counted struct {
	mu      sync.Mutex
	open    int
	refused []string
	changed chan struct{}
}

func (c *counted) Opened() { c.add(1) }
func (c *counted) Closed() { c.add(-1) }

func (c *counted) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
}

func (c *counted) Refused(limit string) {
	c.mu.Lock()
	c.refused = append(c.refused, limit)
	c.mu.Unlock()
	c.changed <- struct{}{}
}

func TestConnectionsBeyondTheLimitAreClosedAtOnce(t *testing.T) {
	for limit, limits := range map[string]config.Limits{
		"connections":         {Connections: 2},
		"address-connections": {Connections: 10, AddressConnections: 2},
	} {
		meter := &counted{changed: make(chan struct{}, 10)}
		l, err := Open(t.Context(), Front{Room: NewRoom(limits, 0), Address: "127.0.0.1:0", Meter: meter})
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn, 10)
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				accepted <- c
			}
		}()
		dial := func() net.Conn {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		dial()
		dial()
		first, _ := <-accepted, <-accepted
		over := dial()
		<-meter.changed
		if _, err := over.Read(make([]byte, 1)); err == nil || len(meter.refused) != 1 || meter.refused[0] != limit || meter.open != 2 {
			t.Errorf("%s: read %v, refused %q, %d open", limit, err, meter.refused, meter.open)
		}
		// One that is closed, even twice, makes room for one.
		_, _ = first.Close(), first.Close()
		dial()
		<-accepted
		dial()
		<-meter.changed
		if meter.open != 2 {
			t.Errorf("%s: %d open", limit, meter.open)
		}
		_ = l.Close()
	}
}

func TestConnectionCanEndItsOwnSideAlone(t *testing.T) {
	client, server := accepted(t, Front{Room: NewRoom(limits, 0)})
	half, ok := server.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("a connection can't end its own side alone")
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v, want the end", err)
	}
	if _, err := client.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the server reads %d bytes, %v, want one", n, err)
	}
}

func TestKernelKeepsLittleForAClientThatDoesNotRead(t *testing.T) {
	client, server := accepted(t, Front{Room: NewRoom(limits, 0)})
	own := client.(*net.TCPConn)
	if err := errors.Join(own.SetReadBuffer(buffer), own.SetWriteBuffer(buffer)); err != nil {
		t.Fatal(err)
	}
	// Neither end reads. The kernel keeps the bytes that it takes.
	for name, sender := range map[string]net.Conn{"answers": server, "requests": client} {
		if err := sender.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := sender.Write(make([]byte, 64<<20)); err == nil || n > 8*buffer {
			t.Errorf("%s: the kernel took %d bytes, %v, want at most %d", name, n, err, 8*buffer)
		}
	}
}
