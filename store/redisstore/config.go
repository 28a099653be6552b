package redisstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	// DefaultPrefix begins the keys of a store whose config leaves the prefix empty.
	DefaultPrefix = "snowfence:"

	// DefaultLoss is the loss of a store whose config neither sets one nor
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

	defaultPort         = "6379"
	defaultSentinelPort = "26379"

	maxPrefix   = 128
	maxDatabase = 1<<31 - 1
)

// Secret is a text that packages fmt and log/slog do not show.
type Secret = storeurl.Secret

// TLS names files in PEM (CAFile, CertFile, KeyFile), which Open reads, or holds a
// *tls.Config. The zero value trusts the system's certificates.
type TLS = storeurl.TLS

// Config names the server, and holds its operator's assertions. Its printed form hides the password.
type Config struct {
	// Endpoints are the primary and its replicas, or the Sentinels, each as host:port. At least one.
	Endpoints []string

	// Sentinel is the name of the primary that the endpoints, which are
	// Sentinels then, are asked for. Empty means that they are servers. With Sentinels
	// the client library writes a line to standard error when the primary changes; its
	// logger is the whole program's.
	Sentinel string

	// SentinelUser and SentinelPasswordFile are the Sentinels' credentials.
	// Empty means that they ask for nothing.
	SentinelUser, SentinelPasswordFile string

	// Database is the number of the database.
	Database int

	// Prefix begins every key: 1 to 128 bytes of [A-Za-z0-9._:/{}-]. Empty means
	// DefaultPrefix.
	Prefix string

	// User and Password are the credentials. An empty user means the default one, an
	// empty password none. The first line of PasswordFile is the password instead. It
	// is read at every new connection, so it may change.
	User         string
	Password     Secret
	PasswordFile string

	// TLS is used for every connection. Nil means no TLS. An empty ServerName
	// means the endpoint's host.
	TLS *TLS

	// Durable asserts that every acknowledged swap lasts: every write is
	// synced, and no replica takes the primary's place. What contradicts it is
	// refused, as far as it can be seen.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failover or a
	// crash can take away. Zero means DefaultLoss, or none if Durable is set; it
	// is refused where there are replicas and nothing that is seen bounds their lag.
	Loss time.Duration

	// NoEviction asserts that the server evicts nothing. It is asked for only
	// where that can't be read.
	NoEviction bool

	// Replicated asserts that a replica takes the place of a primary that fails,
	// and that the primary never comes back from its own disk, or empty. So its append-only file does
	// not matter.
	Replicated bool

	// Rand gives the random bytes of versions; nil means crypto/rand. It must be safe for concurrent
	// use, and must not repeat itself, because versions would.
	Rand io.Reader

	guessed bool // Loss is the default: no operator asserts it
}

// ParseURL returns the config that a URL means; see the package's comment. It opens no
// file. An error names the wrong part, and hides the password.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("redisstore", url, []string{"redis", "rediss"}, func(u *storeurl.URL) (Config, error) {
		c := Config{
			Sentinel: u.Text("sentinel"), SentinelUser: u.Text("sentinel-user"), SentinelPasswordFile: u.Text("sentinel-password-file"),
			Prefix: u.Text("prefix"), TLS: u.TLS(u.Scheme == "rediss"),
			Durable: u.Flag("durable"), Loss: u.Duration("loss"), NoEviction: u.Flag("noeviction"), Replicated: u.Flag("replicated"),
		}
		c.User, c.Password, c.PasswordFile = u.Login()
		c.Endpoints = u.Endpoints(defaultPort)
		if c.Sentinel != "" {
			c.Endpoints = u.Endpoints(defaultSentinelPort)
		}
		u.Refuse("cluster", "cluster mode is not supported")
		if u.Path != "" {
			number, err := strconv.ParseUint(u.Path, 10, 31)
			if err != nil {
				u.Fail(fmt.Errorf("database %.32q: must be a number from 0 to %d", u.Path, maxDatabase))
			}
			c.Database = int(number)
		}
		// The defaults stay out: the config holds the written values.
		_, err := c.withDefaults()
		return c, err
	})
}

// CheckFiles returns an error that names the field and the file unless every file
// that the config names can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	return storeurl.CheckFiles("redisstore", c.TLS, c.PasswordFile, c.SentinelPasswordFile)
}

// Name names the store, as [Store.Name] does: by its servers, database and prefix.
func (c Config) Name() string {
	return storeurl.Name("redis", c.Endpoints, strconv.Itoa(c.Database), "prefix", cmp.Or(c.Prefix, DefaultPrefix), "sentinel", c.Sentinel)
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	if c.Loss == 0 && !c.Durable {
		c.Loss, c.guessed = DefaultLoss, true
	}
	switch {
	case c.Database < 0 || c.Database > maxDatabase:
		return c, fmt.Errorf("redisstore: database %d: must be from 0 to %d", c.Database, maxDatabase)
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
	if err := cmp.Or(storeurl.CheckText("prefix", c.Prefix, "._:/{}-", maxPrefix), storeurl.CheckEndpoints(c.Endpoints)); err != nil {
		return c, fmt.Errorf("redisstore: %w", err)
	}
	return c, nil
}
