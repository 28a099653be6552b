package kubernetesstore

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

// DefaultPrefix begins the names of the Leases of a store whose config names no prefix.
const DefaultPrefix = "snowfence"

// label is the form of a namespace and a prefix.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Config names the cluster to use. It is free of secrets: they are in files.
type Config struct {
	// Namespace holds the Leases. Empty means the pod's own or, with a kubeconfig, its context's.
	Namespace string

	// Prefix begins the name of every Lease: 1 to 63 bytes of [a-z0-9-], with a letter or a digit at both ends. Two
	// prefixes of one namespace do not see each other. Empty means DefaultPrefix.
	Prefix string

	// Kubeconfig is the file that has the server and the user, and Context is the context there. If both are empty, a pod
	// uses its service account, and other programs use kubectl's configuration.
	Kubeconfig, Context string

	// Durable asserts that the cluster loses no acknowledged write. A cluster that may be on SQLite needs it, or Loss.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failure can take away. Zero means durable.
	Loss time.Duration

	// Rand gives the random bytes of versions, concurrently, and never the same. Nil means crypto/rand.
	Rand io.Reader
}

// ParseURL returns the config that a URL means; see the package's comment. It opens no file.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("kubernetesstore", url, []string{"kubernetes"}, func(u *storeurl.URL) (Config, error) {
		u.NoHost("write kubernetes:///NAMESPACE; the server is the pod's own, or a kubeconfig's")
		c := Config{Namespace: strings.Trim(u.Path, "/"), Prefix: u.Text("prefix"), Durable: u.Flag("durable"), Loss: u.Duration("loss")}
		c.Kubeconfig, c.Context = u.Text("kubeconfig"), u.Text("context")
		_, err := c.withDefaults()
		return c, err
	})
}

// CheckFiles returns an error that names the file unless every file that is needed can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	_, err := c.client()
	return err
}

// withDefaults returns the config with the default prefix, or an error that names the field and its limit.
func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	switch {
	case c.Namespace != "" && !label.MatchString(c.Namespace):
		return c, fmt.Errorf("kubernetesstore: namespace %.80q: must have 1 to 63 of [a-z0-9-], with no - at the ends", c.Namespace)
	case !label.MatchString(c.Prefix):
		return c, fmt.Errorf("kubernetesstore: prefix %.80q: must have 1 to 63 of [a-z0-9-], with no - at the ends", c.Prefix)
	case c.Loss < 0:
		return c, fmt.Errorf("kubernetesstore: loss %v: must not be negative", c.Loss)
	case c.Durable && c.Loss != 0:
		return c, fmt.Errorf("kubernetesstore: loss %v: must not be given for a store that is durable", c.Loss)
	}
	return c, nil
}
