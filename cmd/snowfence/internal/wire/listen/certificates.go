package listen

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// certificates serves a certificate from two files and reads them again when they
// change: a renewal needs no restart. It is safe for concurrent use.
type certificates struct {
	settings config.Config

	mu      sync.Mutex // guards what follows
	current *tls.Certificate
	stamp   stamp
}

// stamp tells one state of the two files from another.
type stamp struct {
	certificate, key         time.Time
	certificateSize, keySize int64
}

// newCertificates reads the files, to find a mistake at start. Its error is a *config.Error.
func newCertificates(settings config.Config) (*certificates, error) {
	c := &certificates{settings: settings}
	if err := c.load(); err != nil {
		return nil, c.blame(err)
	}
	return c, nil
}

// blame says which key an error of load is about: the unreadable file's, else the certificate's.
func (c *certificates) blame(err error) error {
	files := c.settings.TLS
	var unreadable *fs.PathError
	switch {
	case !errors.As(err, &unreadable):
		return c.settings.Fault(config.KeyCertificate, files.Certificate, "can not be used with "+config.KeyPrivateKey+": "+err.Error())
	case unreadable.Path == files.Certificate:
		return c.settings.Fault(config.KeyCertificate, files.Certificate, plain(err))
	}
	return c.settings.Fault(config.KeyPrivateKey, files.Key, plain(err))
}

// plain is an error of a file without the file's name.
func plain(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Op + ": " + path.Err.Error()
	}
	return err.Error()
}

// forClient returns the certificate for one handshake. While the files can't
// be read, or don't fit each other as one was just replaced, it is the one before.
func (c *certificates) forClient(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil && c.current == nil {
		return nil, err
	}
	return c.current, nil
}

// load reads the files if they changed. The stamp is taken first: a change
// while they are read is seen the next time.
func (c *certificates) load() error {
	now, err := c.look()
	if err != nil || now == c.stamp {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.settings.TLS.Certificate, c.settings.TLS.Key)
	if err != nil {
		return err
	}
	c.current, c.stamp = &pair, now
	return nil
}

func (c *certificates) look() (stamp, error) {
	certificate, err := os.Stat(c.settings.TLS.Certificate)
	if err != nil {
		return stamp{}, err
	}
	key, err := os.Stat(c.settings.TLS.Key)
	if err != nil {
		return stamp{}, err
	}
	return stamp{certificate.ModTime(), key.ModTime(), certificate.Size(), key.Size()}, nil
}
