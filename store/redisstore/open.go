package redisstore

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence/internal/storeurl"
)

//go:embed swap.lua
var swapScript string

// Open opens the store that a config means. It connects, and judges the server;
// it writes nothing. It returns a *ServerError if the server is not one to
// stand on, and another error that names the field if the config is wrong or
// the server can't be reached. ctx bounds the attempt, and nothing after it.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	for _, path := range []string{c.PasswordFile, c.SentinelPasswordFile} {
		if _, err := storeurl.Password("", path); err != nil {
			return nil, fmt.Errorf("redisstore: read password-file: %w", err)
		}
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	s := &Store{
		config:  c,
		clients: c.dial(),
		swap:    redis.NewScript(swapScript),
		closing: make(chan struct{}),
	}
	if _, err := s.Now(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("redisstore: open: %w", err), s.Close())
	}
	if c.guess != nil {
		c.guess.opened()
	}
	return s, nil
}
