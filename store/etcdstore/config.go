package etcdstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	// DefaultPrefix begins the keys of a store whose config names no prefix.
	DefaultPrefix = "snowfence"

	maxPrefix   = 255
	defaultPort = "2379"
)

// Config says which cluster to use. Its String and log forms show no password.
type Config struct {
	// Endpoints are members of one cluster, each as host:port. At least one.
	Endpoints []string

	// Prefix begins every key, and is followed by a slash: 1 to 255 bytes without
	// a slash at the end. Empty means DefaultPrefix.
	Prefix string

	// User and Password are the credentials. An empty user means none.
	User     string
	Password storeurl.Secret

	// TLS is used for every connection. Nil means no TLS. The server's name is
	// always the endpoint's own host; the config's ServerName is not used.
	TLS *tls.Config

	// Loss is the greatest age of an acknowledged swap that a failure can take
	// away: of members that do not sync. Zero means none is ever lost.
	Loss time.Duration

	// Rand gives the random bytes of versions, 16 for each. It must be safe for
	// concurrent use and never repeat itself, or versions do. Nil means
	// crypto/rand.
	Rand io.Reader
}

// ParseURL returns the config that a URL means; the package's comment says what
// it may hold. It reads the files that the URL names. An error names the part
// that is wrong, and never shows a password.
func ParseURL(raw string) (Config, error) {
	u, err := storeurl.Parse(raw, "etcd", "etcds")
	if err != nil {
		return Config{}, fmt.Errorf("etcdstore: URL: %w", err)
	}
	c := Config{Endpoints: u.Endpoints(defaultPort), Prefix: strings.Trim(u.Path, "/"), Loss: u.Duration("loss"), TLS: u.TLS(u.Scheme == "etcds")}
	c.User, c.Password = u.Credentials()
	if err := u.Done(); err != nil {
		return Config{}, fmt.Errorf("etcdstore: URL: %w", err)
	}
	if _, err := c.withDefaults(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
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
	case c.User == "" && c.Password != "":
		return c, errors.New("etcdstore: password: needs a user")
	case c.User != "" && c.Password == "":
		// The library would leave the user out, and say nothing.
		return c, errors.New("etcdstore: user: needs a password")
	}
	return c, nil
}

// String returns the config for people, without its password.
func (c Config) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "etcd %s prefix %q", strings.Join(c.Endpoints, ","), c.Prefix)
	if c.User != "" {
		fmt.Fprintf(&b, " user %q", c.User)
	}
	if c.TLS != nil {
		b.WriteString(" over TLS")
	}
	if c.Loss > 0 {
		fmt.Fprintf(&b, " loss %v", c.Loss)
	}
	return b.String()
}

// GoString is String, so that %#v shows no password either.
func (c Config) GoString() string { return c.String() }

// LogValue is String for package slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
