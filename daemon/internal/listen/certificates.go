package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/token"
)

// Certificates serve TLS from files, and read them again when they change. Use [NewCertificates] to make
// them. They are safe for concurrent use.
type Certificates struct {
	settings config.Config
	log      *slog.Logger

	mu      sync.Mutex // guards the fields below
	current *tls.Config
	seen    [3]os.FileInfo // the files when they were read last, whether they could be used or not
	failed  string         // why the files could not be read again, so that it is logged once
}

// NewCertificates reads the files of the settings, or returns nil if the settings have no TLS. It
// returns a [*config.Error] when a file can't be used. It logs when it reads the files again.
func NewCertificates(settings config.Config, log *slog.Logger) (*Certificates, error) {
	if settings.TLS == (config.TLS{}) {
		return nil, nil
	}
	c := &Certificates{settings: settings, log: log}
	if _, err := c.load(); err != nil {
		return nil, c.blame(err)
	}
	return c, nil
}

// files are the certificate, its key, and the authorities of clients, which may be "".
func (c *Certificates) files() [3]string {
	t := c.settings.TLS
	return [3]string{t.Certificate, t.Key, t.ClientCA}
}

// errNoAuthority is the error of a file of authorities without certificates.
var errNoAuthority = errors.New("the file holds no certificate in PEM")

// blame names the key that an error of load is about: the unreadable file's, else the certificate's.
func (c *Certificates) blame(err error) error {
	keys, files := [3]string{config.KeyCertificate, config.KeyPrivateKey, config.KeyClientCA}, c.files()
	var unreadable *fs.PathError
	switch {
	case errors.Is(err, errNoAuthority):
		return c.settings.Fault(keys[2], files[2], err.Error())
	case errors.As(err, &unreadable):
		i := max(slices.Index(files[:], unreadable.Path), 0)
		return c.settings.Fault(keys[i], files[i], unreadable.Op+": "+unreadable.Err.Error())
	}
	return c.settings.Fault(keys[0], files[0], "can not be used with "+keys[1]+": "+err.Error())
}

// config returns the TLS config of a front's listener. Each handshake uses the present files.
func (c *Certificates) config(protocols []string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := c.latest().Clone()
			current.NextProtos = protocols
			return current, nil
		},
	}
}

// Again reads the files at once, whether or not they seem to have changed. On nil it does nothing.
func (c *Certificates) Again() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.seen, c.failed = [3]os.FileInfo{}, "" // a fault is logged once more
	c.mu.Unlock()
	c.latest()
}

// latest returns the files' content. While they can't be read, or don't fit each other as one was
// just replaced, it is the content before.
func (c *Certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch changed, err := c.load(); {
	case err != nil && err.Error() != c.failed:
		c.failed = err.Error()
		c.log.Error("the files of TLS can't be read again: the content that was read before stays in use", "error", err)
	case changed:
		c.failed = ""
		c.log.Info("audit: the files of TLS were read again", "certificate", c.settings.TLS.Certificate)
	}
	return c.current
}

// Ends returns when the certificate in use ends.
func (c *Certificates) Ends() time.Time { return c.latest().Certificates[0].Leaf.NotAfter }

// Trouble returns what is wrong with the certificate: that it has ended or ends soon, and why its files can't be read
// again. It is empty if nothing is, or on nil.
func (c *Certificates) Trouble(now time.Time) string {
	if c == nil {
		return ""
	}
	ends := c.Ends()
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong := ""
	switch {
	case !now.Before(ends):
		wrong = "The certificate in use ended at " + ends.UTC().Format(time.RFC3339) + ", so clients refuse it"
	case now.Add(soon).After(ends):
		wrong = "The certificate in use ends at " + ends.UTC().Format(time.RFC3339)
	}
	if c.failed != "" {
		wrong = strings.TrimPrefix(wrong+". The files can't be read again: "+c.failed, ". ")
	}
	return wrong
}

// load reads the files if they changed since the last reading, even one in which they did not fit each
// other, or if one was unreadable. It looks first, so a change while they are read is seen the next
// time.
func (c *Certificates) load() (changed bool, err error) {
	before := c.seen
	c.seen = [3]os.FileInfo{}
	defer func() {
		if errors.As(err, new(*fs.PathError)) {
			c.seen = [3]os.FileInfo{} // a change of the file's permissions alone would stay unseen
		}
	}()
	for i, path := range c.files() {
		if path == "" {
			continue
		}
		if c.seen[i], err = os.Stat(path); err != nil {
			return false, err
		}
		changed = changed || !token.Unchanged(before[i], c.seen[i])
	}
	if !changed {
		return false, nil
	}
	files := c.settings.TLS
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return false, err
	}
	loaded := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if files.ClientCA != "" {
		pem, err := os.ReadFile(files.ClientCA)
		if err != nil {
			return false, err
		}
		loaded.ClientAuth, loaded.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		// A resumed session skips the certificate, whose authority may be gone from the file since.
		loaded.SessionTicketsDisabled = true
		if !loaded.ClientCAs.AppendCertsFromPEM(pem) {
			return false, errNoAuthority
		}
	}
	c.current = loaded
	return true, nil
}
