package redisstore

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"snowfence.example/snowfence/store"
)

// A register is stored as "1 <version> <value>": the number of this format, the
// version as 32 hexadecimal digits, and the value as it is. People can read it,
// and swap.lua compares it without more.
const (
	head        = "1 "
	versionSize = 16
	valueAt     = len(head) + 2*versionSize + 1
)

// newVersion returns a version that never was and never will be again.
func newVersion(random io.Reader) (store.Version, error) {
	var token [versionSize]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return "", fmt.Errorf("redisstore: make version: %w", err)
	}
	return store.Version(hex.EncodeToString(token[:])), nil
}

// decode returns the register of a key as it is stored.
func decode(key, stored string) (store.Entry, error) {
	if !strings.HasPrefix(stored, head) || len(stored) < valueAt || stored[valueAt-1] != ' ' ||
		strings.Trim(stored[len(head):valueAt-1], "0123456789abcdef") != "" {
		return store.Entry{}, damaged(key, "it is not a register that this version of the program knows")
	}
	return store.Entry{
		Key:     key,
		Value:   []byte(stored[valueAt:]),
		Version: store.Version(stored[len(head) : valueAt-1]),
	}, nil
}

// damaged is the error for a register that can't be read.
func damaged(key, what string) error {
	return fmt.Errorf("redisstore: register %q: %s: %w", key, what, store.ErrDamaged)
}

// The names below can't collide with each other, whatever two stores' prefixes
// are: no key of package store has a colon in it, so the last colon of a name
// tells which of the two it is, and whose.

func (c *Config) registerName(key string) string { return c.Prefix + "register:" + key }

func (c *Config) indexName() string { return c.Prefix + "index:" }
