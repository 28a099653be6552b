package listen

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// certificates serves a certificate from two files and reads them again when
// they change, so that a renewed certificate needs no restart. It is safe for
// concurrent use.
type certificates struct {
	files config.TLS

	mu      sync.Mutex // guards what follows
	current *tls.Certificate
	stamp   stamp
}

// stamp tells one state of the two files from another.
type stamp struct {
	certificate, key         time.Time
	certificateSize, keySize int64
}

// newCertificates reads the files once, so that a mistake is found at start.
func newCertificates(files config.TLS) (*certificates, error) {
	c := &certificates{files: files}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("load the TLS certificate: %w", err)
	}
	return c, nil
}

// forClient returns the certificate for one handshake. While the files can't
// be read, or don't fit each other because one has just been replaced, it is
// the one before.
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
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		return err
	}
	c.current, c.stamp = &pair, now
	return nil
}

func (c *certificates) look() (stamp, error) {
	certificate, err := os.Stat(c.files.Certificate)
	if err != nil {
		return stamp{}, err
	}
	key, err := os.Stat(c.files.Key)
	if err != nil {
		return stamp{}, err
	}
	return stamp{certificate.ModTime(), key.ModTime(), certificate.Size(), key.Size()}, nil
}
