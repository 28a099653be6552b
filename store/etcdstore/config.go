package etcdstore

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
	// DefaultPrefix begins the keys of a store whose config leaves the prefix empty.
	DefaultPrefix = "snowfence"

	maxPrefix   = 255
	defaultPort = "2379"
)

// Secret is a text that packages fmt and log/slog do not show.
type Secret = storeurl.Secret

// TLS names files in PEM (CAFile, CertFile, KeyFile), which Open reads, or holds a
// *tls.Config. The zero value trusts the system's certificates.
type TLS = storeurl.TLS

// Config names the cluster to use. Its printed form hides the password.
type Config struct {
	// Endpoints are members of one cluster, each as host:port. At least one.
	Endpoints []string

	// Prefix begins every key, and is followed by a slash: 1 to 255 bytes without
	// a slash at the end. Empty means DefaultPrefix.
	Prefix string

	// User and Password are the credentials. An empty user means none. The first
	// line of PasswordFile, which Open reads, is the password instead.
	User         string
	Password     Secret
	PasswordFile string

	// TLS is used for every connection. Nil means no TLS. The server's name is
	// always the endpoint's own host; a ServerName is not used.
	TLS *TLS

	// Loss is the greatest age of an acknowledged swap that a failure can take
	// away: of members that do not sync. Zero means durable.
	Loss time.Duration

	// Rand gives the random bytes of versions; nil means crypto/rand. It must be safe for concurrent
	// use, and must not repeat itself, because versions would.
	Rand io.Reader
}

// ParseURL returns the config that a URL means; see the package's comment. It opens no
// file. An error names the wrong part, and hides the password.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("etcdstore", url, []string{"etcd", "etcds"}, func(u *storeurl.URL) (Config, error) {
		c := Config{Endpoints: u.Endpoints(defaultPort), Prefix: strings.Trim(u.Path, "/"), Loss: u.Duration("loss"), TLS: u.TLS(u.Scheme == "etcds")}
		c.User, c.Password, c.PasswordFile = u.Login()
		_, err := c.withDefaults()
		return c, err
	})
}

// CheckFiles returns an error that names the field and the file unless every file
// that the config names can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	return storeurl.CheckFiles("etcdstore", c.TLS, c.PasswordFile)
}

// Name names the store, as [Store.Name] does: by its members and prefix.
func (c Config) Name() string {
	return storeurl.Name("etcd", c.Endpoints, cmp.Or(c.Prefix, DefaultPrefix))
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	// The library would take http:// and unix: as well, and drop TLS for them.
	if err := storeurl.CheckEndpoints(c.Endpoints); err != nil {
		return c, fmt.Errorf("etcdstore: %w", err)
	}
	switch {
	case len(c.Prefix) > maxPrefix:
		return c, fmt.Errorf("etcdstore: prefix of %d bytes: must have at most %d", len(c.Prefix), maxPrefix)
	case strings.HasSuffix(c.Prefix, "/"):
		return c, fmt.Errorf("etcdstore: prefix %q: must not end in a slash", c.Prefix)
	case c.Loss < 0:
		return c, fmt.Errorf("etcdstore: loss %v: must not be negative", c.Loss)
	case c.User == "" && (c.Password != "" || c.PasswordFile != ""):
		return c, errors.New("etcdstore: password: needs a user")
	case c.Password != "" && c.PasswordFile != "":
		return c, errors.New("etcdstore: password-file: must not be given with a password")
	case c.User != "" && c.Password == "" && c.PasswordFile == "":
		// The library would ignore the user, without an error.
		return c, errors.New("etcdstore: user: needs a password")
	}
	return c, nil
}
