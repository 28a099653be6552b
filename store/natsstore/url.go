package natsstore

import (
	"fmt"

	"snowfence.example/snowfence/internal/storeurl"
)

const defaultPort = "4222"

// ParseURL returns the config that a URL means; the package's comment says what
// it may hold. It reads the files of ca, cert and key. An error names the part
// that is wrong, and never shows a password.
func ParseURL(raw string) (Config, error) {
	u, err := storeurl.Parse(raw, "nats")
	if err != nil {
		return Config{}, fmt.Errorf("natsstore: URL: %w", err)
	}
	c := Config{
		Endpoints: u.Endpoints(defaultPort), Bucket: u.Path, Prefix: u.Text("prefix"), Replicas: u.Count("replicas", 1, maxReplicas),
		TokenFile: u.Text("token-file"), CredsFile: u.Text("creds"), NKeyFile: u.Text("nkey"), TLS: u.TLS(false),
		Durable: u.Flag("durable"), Loss: u.Duration("loss"), UnsafeIgnoreLoss: u.Flag("unsafe-ignore-loss"),
	}
	c.User, c.Password, c.PasswordFile = u.Login()
	if err := u.Done(); err != nil {
		return Config{}, fmt.Errorf("natsstore: URL: %w", err)
	}
	// The defaults stay out: who prints the config shall see what was written.
	if _, err := c.withDefaults(); err != nil {
		return Config{}, err
	}
	return c, nil
}
