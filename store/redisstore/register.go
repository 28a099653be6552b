package redisstore

import (
	"fmt"
	"strings"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// A register is stored as "1 <version> <value>": the number of this format, the
// version as 32 hexadecimal digits, and the value as it is. People can read it,
// and swap.lua compares it without more.
const (
	head    = "1 "
	valueAt = len(head) + storeclient.TokenDigits + 1

	// lastByte is the last one that is read, just behind the longest register: of one that is
	// longer the rest stays with the server.
	lastByte = int64(valueAt + store.MaxValue)
)

// decode returns the register of a key as it is stored.
func decode(key, stored string) (store.Entry, error) {
	if !strings.HasPrefix(stored, head) || len(stored) < valueAt || stored[valueAt-1] != ' ' ||
		!storeclient.IsToken(stored[len(head):valueAt-1]) {
		return store.Entry{}, damaged(key, "it is not a register that this version of the program knows")
	}
	if int64(len(stored)) > lastByte {
		return store.Entry{}, damaged(key, fmt.Sprintf("its value is longer than %d bytes", store.MaxValue))
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
// are: keys of package store are free of colons, so the last colon of a name
// shows which of the two it is, and whose.

func (c *Config) registerName(key string) string { return c.Prefix + "register:" + key }

func (c *Config) indexName() string { return c.Prefix + "index:" }
