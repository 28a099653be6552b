package redisstore

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
	DefaultPrefix = "snowfence:"

	// DefaultLoss is the loss of a store whose config neither says one nor
	// asserts that it is durable. It is made for min-replicas-max-lag as it is by
	// default: for how long a primary goes on accepting writes after its replica
	// fell silent, and some more.
	//
	//	10 s     min-replicas-max-lag
	//	 1 s     the lag is counted in whole seconds
	//	 1 s     the lag is looked at once a second
	//	 0.1 s   the server reads its clock ten times a second
	//	 0.01 s  a monotonic clock of ours may be fast by half a millisecond a second
	//	 2.89 s  left for a server that is late: by a slow command, a fork, a busy host
	//
	// Three times this is less than the default window of package fence, 60 s. The
	// window of a pinned worker id, 5 s by default, has to be made longer.
	DefaultLoss = 15 * time.Second

	maxPrefix   = 128
	maxDatabase = 1<<31 - 1
)

// Config says which server to use, and what its operator asserts. Its String
// and log forms show no password.
type Config struct {
	// Endpoints are the servers of which one is the primary, or the Sentinels,
	// each as host:port. At least one.
	Endpoints []string

	// Sentinel is the name of the primary that the endpoints, which are
	// Sentinels then, are asked for. Empty means that they are servers.
	Sentinel string

	// SentinelUser and SentinelPasswordFile are what the Sentinels ask for.
	// Empty means that they ask for nothing.
	SentinelUser, SentinelPasswordFile string

	// Database is the number of the database.
	Database int

	// Prefix begins every key: 1 to 128 bytes of [A-Za-z0-9._:/{}-]. Empty means
	// DefaultPrefix.
	Prefix string

	// User and Password are the credentials. An empty user means the default
	// one, an empty password none.
	User     string
	Password storeurl.Secret

	// PasswordFile holds the password instead. It is read at every new
	// connection, without the line's end; so it may change.
	PasswordFile string

	// TLS is used for every connection. Nil means no TLS. An empty ServerName
	// means the endpoint's host.
	TLS *tls.Config

	// Durable asserts that no acknowledged swap is ever lost: every write is
	// synced, and no replica takes the primary's place. What contradicts it is
	// refused, as far as it can be seen.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failover or a
	// crash can take away. Zero means DefaultLoss, or none if Durable is set; it
	// is refused where there are replicas and nothing that is seen bounds their lag,
	// and on a store that is open after a grace.
	Loss time.Duration

	// NoEviction asserts that the server evicts nothing. It is asked for only
	// where that can't be read.
	NoEviction bool

	// Replicated asserts that a replica takes the place of a primary that fails,
	// and that the primary never comes back with what is on its own disk, or
	// empty. So its append-only file does not matter.
	Replicated bool

	// Rand gives the random bytes of versions, 16 for each. It must be safe for
	// concurrent use and never repeat itself, or versions do. Nil means
	// crypto/rand.
	Rand io.Reader

	guess *guess // not nil if Loss is the default: nobody asserts it
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Loss == 0 && !c.Durable {
		c.Loss, c.guess = DefaultLoss, &guess{log: slog.New(slog.DiscardHandler)}
	}
	switch {
	case c.Database < 0 || c.Database > maxDatabase:
		return c, fmt.Errorf("redisstore: database %d: must be from 0 to %d", c.Database, maxDatabase)
	case len(c.Prefix) > maxPrefix:
		return c, fmt.Errorf("redisstore: prefix of %d bytes: must have at most %d", len(c.Prefix), maxPrefix)
	case c.Loss < 0:
		return c, fmt.Errorf("redisstore: loss %v: must be more than 0", c.Loss)
	case c.Durable && c.Loss != 0:
		return c, fmt.Errorf("redisstore: loss %v: must not be given for a store that is durable", c.Loss)
	case c.Durable && c.Sentinel != "":
		return c, errors.New("redisstore: durable: must not be asserted with Sentinel, which fails over to asynchronous replicas")
	case c.Durable && c.Replicated:
		return c, errors.New("redisstore: durable: must not be asserted together with replicated, which is about failing over to asynchronous replicas")
	case c.Password != "" && c.PasswordFile != "":
		return c, errors.New("redisstore: password-file: must not be given with a password")
	}
	for i := range len(c.Prefix) {
		if !plain(c.Prefix[i]) {
			return c, fmt.Errorf("redisstore: prefix %q: byte %q at %d: must be one of [A-Za-z0-9._:/{}-]", c.Prefix, c.Prefix[i:i+1], i)
		}
	}
	if err := storeurl.CheckEndpoints(c.Endpoints); err != nil {
		return c, fmt.Errorf("redisstore: %w", err)
	}
	return c, nil
}

// String returns the config for people, without its passwords.
func (c Config) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redis %s database %d prefix %q", strings.Join(c.Endpoints, ","), c.Database, c.Prefix)
	if c.Sentinel != "" {
		fmt.Fprintf(&b, " sentinel %q", c.Sentinel)
	}
	if c.User != "" {
		fmt.Fprintf(&b, " user %q", c.User)
	}
	if c.TLS != nil {
		b.WriteString(" over TLS")
	}
	if c.Durable {
		b.WriteString(" durable")
	} else {
		fmt.Fprintf(&b, " loss %v", c.Loss)
	}
	return b.String()
}

// GoString is String, so that %#v shows no password either.
func (c Config) GoString() string { return c.String() }

// LogValue is String for package slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._:/{}-", c) >= 0
}
