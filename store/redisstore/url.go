package redisstore

import (
	"errors"
	"fmt"
	"strconv"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
)

// ParseURL returns the config that a URL means; the package's comment says what
// it may hold. It reads the files of ca, cert and key. An error names the part
// that is wrong, and never shows a password.
func ParseURL(raw string) (Config, error) {
	u, err := storeurl.Parse(raw, "redis", "rediss")
	if err != nil {
		return Config{}, fmt.Errorf("redisstore: URL: %w", err)
	}
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
	if err := u.Done(); err != nil {
		if u.Text("cluster") != "" {
			err = errors.New("cluster: cluster mode is not supported")
		}
		return Config{}, fmt.Errorf("redisstore: URL: %w", err)
	}
	if u.Path != "" {
		number, err := strconv.ParseUint(u.Path, 10, 31)
		if err != nil {
			return Config{}, fmt.Errorf("redisstore: URL: database %.32q: must be a number from 0 to %d", u.Path, maxDatabase)
		}
		c.Database = int(number)
	}
	// The defaults stay out: who prints the config shall see what was written.
	if _, err := c.withDefaults(); err != nil {
		return Config{}, err
	}
	return c, nil
}
