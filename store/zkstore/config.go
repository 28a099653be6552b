package zkstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	// DefaultPrefix is the node of a store whose config leaves it empty.
	DefaultPrefix = "/snowfence"

	// DefaultSessionTimeout is the least that a server grants by default: two of its ticks, of two seconds each (zoo.cfg's tickTime).
	DefaultSessionTimeout = 4 * time.Second

	minSessionTimeout = 300 * time.Millisecond
	maxSessionTimeout = time.Minute
	maxPrefix         = 128
	defaultPort       = "2181"
)

// Secret is a text that packages fmt and log/slog do not show.
type Secret = storeurl.Secret

// TLS names files in PEM (CAFile, CertFile, KeyFile), which Open reads, or holds a
// *tls.Config. The zero value trusts the system's certificates.
type TLS = storeurl.TLS

// Config names the ensemble, and holds its operator's assertions. Its printed form hides the password.
type Config struct {
	// Endpoints are servers of one ensemble, each as host:port. At least one.
	// They are tried in a random order, and resolved at every attempt.
	Endpoints []string

	// Prefix is the node below which the registers are: an absolute path of at
	// most 128 bytes of [A-Za-z0-9._/-], and neither / nor below /zookeeper.
	// Empty means DefaultPrefix.
	Prefix string

	// Existing refuses to create the prefix: it must be there already, or an error
	// that is [store.ErrNoStore] is returned. Set it to read others' registers.
	Existing bool

	// User and Password are the credentials of ZooKeeper's digest scheme, and only this user may read and
	// write the nodes that it creates. Empty means none, and nodes for anyone. The first line of
	// PasswordFile, which Open reads, is the password instead.
	User         string
	Password     Secret
	PasswordFile string

	// TLS is used for every connection. Nil means no TLS. An empty ServerName
	// means the endpoint's host.
	TLS *TLS

	// SessionTimeout is the requested timeout, from 300 ms to 1 min; the server may grant less or more.
	// A server that stays silent for two thirds of it is given up for the next one. Safety does not
	// rest on it: nothing is bound to a session. Zero means DefaultSessionTimeout.
	SessionTimeout time.Duration

	// Loss is the greatest age of an acknowledged swap that a failure can take
	// away. Zero means that there is none, which is true of an ensemble that
	// syncs its log; see the package's comment.
	Loss time.Duration

	// Rand gives the random bytes of versions; nil means crypto/rand. It must be safe for concurrent
	// use, and must not repeat itself, because versions would.
	Rand io.Reader
}

// ParseURL returns the config that a URL means; see the package's comment. It opens no
// file. An error names the wrong part, and hides the password.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("zkstore", url, []string{"zookeeper"}, func(u *storeurl.URL) (Config, error) {
		c := Config{
			Endpoints: u.Endpoints(defaultPort), TLS: u.TLS(false), Loss: u.Duration("loss"),
		}
		c.User, c.Password, c.PasswordFile = u.Login()
		if u.Path != "" {
			c.Prefix = "/" + u.Path
		}
		// The defaults stay out: the config holds the written values.
		_, err := c.withDefaults()
		return c, err
	})
}

// CheckFiles returns an error that names the field and the file unless every file
// that the config names can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	return storeurl.CheckFiles("zkstore", c.TLS, c.PasswordFile)
}

// Name names the store, as [Store.Name] does: by its servers and prefix.
func (c Config) Name() string {
	return storeurl.Name("zookeeper", c.Endpoints, cmp.Or(c.Prefix, DefaultPrefix))
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, DefaultSessionTimeout)
	switch {
	case strings.Contains(c.User, ":"):
		return c, errors.New("zkstore: user: must have no colon, which ends the user in ZooKeeper's digest scheme")
	case c.User == "" && (c.Password != "" || c.PasswordFile != ""):
		return c, errors.New("zkstore: password: needs a user")
	case c.Password != "" && c.PasswordFile != "":
		return c, errors.New("zkstore: password-file: must not be given with a password")
	case len(c.User)+len(c.Password) > maxCredentials:
		return c, fmt.Errorf("zkstore: user and password of %d bytes: must have at most %d", len(c.User)+len(c.Password), maxCredentials)
	case c.SessionTimeout < minSessionTimeout || c.SessionTimeout > maxSessionTimeout:
		return c, fmt.Errorf("zkstore: SessionTimeout %v: must be from %v to %v", c.SessionTimeout, minSessionTimeout, maxSessionTimeout)
	case c.Loss < 0:
		return c, fmt.Errorf("zkstore: loss %v: must not be negative", c.Loss)
	}
	if err := storeurl.CheckEndpoints(c.Endpoints); err != nil {
		return c, fmt.Errorf("zkstore: %w", err)
	}
	return c, checkPrefix(c.Prefix)
}

// checkPrefix returns an error unless the prefix is a path that ZooKeeper takes.
func checkPrefix(prefix string) error {
	if err := storeurl.CheckText("prefix", prefix, "._/-", maxPrefix); err != nil {
		return fmt.Errorf("zkstore: %w", err)
	}
	if !strings.HasPrefix(prefix, "/") {
		return fmt.Errorf("zkstore: prefix %q: must begin with /", prefix)
	}
	for i, name := range strings.Split(prefix[1:], "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return fmt.Errorf("zkstore: prefix %q: no name in it may be empty, %q or %q", prefix, ".", "..")
		case i == 0 && name == "zookeeper":
			return fmt.Errorf("zkstore: prefix %q: /zookeeper is ZooKeeper's own", prefix)
		}
	}
	return nil
}
