package natsstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	// DefaultBucket is the bucket of a store whose config leaves it empty.
	DefaultBucket = "snowfence"

	// DefaultPrefix begins the keys of a store whose config leaves the prefix empty.
	DefaultPrefix = "snowfence"

	// DefaultLoss is the loss of a store whose config leaves it open: for how
	// long a write may be without a sync with sync_interval as it is by default
	// (https://docs.nats.io/running-a-nats-service/configuration), and some more.
	//
	//	120 s     from the end of one sync to the beginning of the next
	//	 20 s     two syncs of 10 s, on a disk that is busy: the write may come just
	//	          after the first one passed its file, and is safe after the second
	//	  0.08 s  a monotonic clock of ours may be fast by half a millisecond a second
	//	  9.92 s  left for a server that is late
	DefaultLoss = 150 * time.Second

	defaultPort = "4222"
	maxName     = 64
	maxReplicas = 5
)

// Secret is a text that packages fmt and log/slog do not show.
type Secret = storeurl.Secret

// TLS names files in PEM (CAFile, CertFile, KeyFile), which Open reads, or holds a
// *tls.Config. The zero value trusts the system's certificates.
type TLS = storeurl.TLS

// Config names the servers, and holds their operator's assertions. Its printed form hides the secrets.
type Config struct {
	// Endpoints are the servers of one cluster, each as host:port. At least one.
	// Unnamed ones are not used.
	Endpoints []string

	// Bucket is the key-value bucket: 1 to 64 bytes of [A-Za-z0-9_-]. Empty
	// means DefaultBucket.
	Bucket string

	// Prefix begins every key: 1 to 64 bytes of [A-Za-z0-9_-]. Two prefixes of
	// one bucket do not see each other. Empty means DefaultPrefix.
	Prefix string

	// Replicas is how many servers keep the bucket: 1 to 5. It is made with so
	// many, and one that has fewer is refused. Zero means that a new one is kept
	// by one server, and that any number will do.
	Replicas int

	// Existing refuses to make the bucket: it must be there already, or an error
	// that is [store.ErrNoStore] is returned. Set it to read others' registers.
	Existing bool

	// User and Password are the credentials. An empty user means none.
	User     string
	Password Secret

	// PasswordFile holds the password instead; CredsFile a user's JWT and seed, as nsc
	// writes them, without a user. At most one of them, and of Password. They are read for every
	// connection, so they may change.
	PasswordFile, CredsFile string

	// TLS is used for every connection. Nil means no TLS, unless the server asks
	// for it: then the system's certificates are trusted.
	TLS *TLS

	// Durable asserts that every server syncs before it acknowledges
	// (sync_interval: always). A server that is too old to do so is refused.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failure can take
	// away. Zero means DefaultLoss, or none if Durable is set.
	Loss time.Duration

	// Rand gives the random bytes of versions; nil means crypto/rand. It must be safe for concurrent
	// use, and must not repeat itself, because versions would.
	Rand io.Reader
}

// ParseURL returns the config that a URL means; see the package's comment. It opens no
// file. An error names the wrong part, and hides the password.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("natsstore", url, []string{"nats"}, func(u *storeurl.URL) (Config, error) {
		c := Config{
			Endpoints: u.Endpoints(defaultPort), Bucket: u.Path, Prefix: u.Text("prefix"), Replicas: u.Count("replicas", 1, maxReplicas),
			CredsFile: u.Text("creds"), TLS: u.TLS(false), Durable: u.Flag("durable"), Loss: u.Duration("loss"),
		}
		c.User, c.Password, c.PasswordFile = u.Login()
		// The defaults stay out: the config holds the written values.
		_, err := c.withDefaults()
		return c, err
	})
}

// CheckFiles returns an error that names the field and the file unless every file
// that the config names can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	_, err := c.TLS.Load()
	if err == nil {
		_, err = c.options(nil)
	}
	if err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	return nil
}

// Name names the store, as [Store.Name] does: by its servers, bucket and prefix, and by the user, whose account has buckets of its own.
func (c Config) Name() string {
	user := c.User
	if c.Password == "" && c.PasswordFile == "" {
		user = "" // it is a token, which does not matter
	}
	return storeurl.Name("nats", c.Endpoints, cmp.Or(c.Bucket, DefaultBucket), "prefix", cmp.Or(c.Prefix, DefaultPrefix),
		"user", user, "creds", c.CredsFile)
}

// withDefaults returns the config with every zero value replaced, or an error
// that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	c.Bucket, c.Prefix = cmp.Or(c.Bucket, DefaultBucket), cmp.Or(c.Prefix, DefaultPrefix)
	switch {
	case c.Replicas < 0 || c.Replicas > maxReplicas:
		return c, fmt.Errorf("natsstore: replicas %d: must be from 1 to %d", c.Replicas, maxReplicas)
	case c.Password != "" && c.PasswordFile != "":
		return c, errors.New("natsstore: password-file: must not be given with a password")
	case (c.Password != "" || c.PasswordFile != "") && c.User == "":
		return c, errors.New("natsstore: user: must be given with a password")
	case c.User != "" && c.CredsFile != "":
		return c, errors.New("natsstore: user: must not be given with creds")
	case c.Loss < 0:
		return c, fmt.Errorf("natsstore: loss %v: must be more than 0", c.Loss)
	case c.Durable && c.Loss != 0:
		return c, fmt.Errorf("natsstore: loss %v: must not be given for a store that is durable", c.Loss)
	}
	if err := cmp.Or(
		storeurl.CheckText("bucket", c.Bucket, "_-", maxName), storeurl.CheckText("prefix", c.Prefix, "_-", maxName),
		storeurl.CheckEndpoints(c.Endpoints),
	); err != nil {
		return c, fmt.Errorf("natsstore: %w", err)
	}
	if c.Loss == 0 && !c.Durable {
		c.Loss = DefaultLoss
	}
	return c, nil
}
