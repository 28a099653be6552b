package zkstore

import (
	"fmt"

	"snowfence.example/snowfence/internal/storeurl"
)

const defaultPort = "2181"

// ParseURL returns the config that a URL means; the package's comment says what
// it may hold. It reads the files of ca, cert and key. An error names the part
// that is wrong, and never shows a password.
func ParseURL(raw string) (Config, error) {
	u, err := storeurl.Parse(raw, "zookeeper")
	if err != nil {
		return Config{}, fmt.Errorf("zkstore: URL: %w", err)
	}
	c := Config{
		Endpoints: u.Endpoints(defaultPort), TLS: u.TLS(false), ACL: ACL(u.Text("acl")),
		SessionTimeout: u.Duration("session-timeout"), Loss: u.Duration("loss"),
	}
	c.User, c.Password, c.PasswordFile = u.Login()
	if err := u.Done(); err != nil {
		return Config{}, fmt.Errorf("zkstore: URL: %w", err)
	}
	if u.Path != "" {
		c.Prefix = "/" + u.Path
	}
	// The defaults stay out: who prints the config shall see what was written.
	if _, err := c.withDefaults(); err != nil {
		return Config{}, err
	}
	return c, nil
}
