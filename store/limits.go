package store

import "fmt"

const (
	// MaxKey is the greatest length of a key in bytes. The least is 1.
	MaxKey = 200

	// MaxValue is the greatest length of a value in bytes. The least is 0.
	MaxValue = 4096

	// KeyAlphabet holds every byte that a key may have, in ascending order.
	// Keys are compared as bytes: case and collation do not matter.
	KeyAlphabet = "-./0123456789_abcdefghijklmnopqrstuvwxyz"
)

// A KeyError is returned for a key or a prefix that no store takes. Nothing
// was sent to the engine.
type KeyError struct {
	Field  string // "key" or "prefix"
	Key    string // as it was given
	Reason string // the fault, with the limit
}

// Error names the field, the value (its beginning, if it is long) and the
// limit.
func (e *KeyError) Error() string {
	const shown = 64
	if len(e.Key) > shown {
		return fmt.Sprintf("store: %s %q… (%d bytes): %s", e.Field, e.Key[:shown], len(e.Key), e.Reason)
	}
	return fmt.Sprintf("store: %s %q: %s", e.Field, e.Key, e.Reason)
}

// A ValueError is returned for a value that no store takes. Nothing was sent
// to the engine.
type ValueError struct {
	Size int // the value's length in bytes
}

// Error names the field, the value's length and the limit.
func (e *ValueError) Error() string {
	return fmt.Sprintf("store: value of %d bytes: must be at most %d bytes", e.Size, MaxValue)
}

// ValidateKey returns a *KeyError unless key has 1 to MaxKey bytes, all of
// KeyAlphabet. Every other combination is a key: "." and "a//b" are keys like
// any other, and an engine that maps keys to paths must see to it.
func ValidateKey(key string) error {
	if key == "" {
		return &KeyError{Field: "key", Key: key, Reason: fmt.Sprintf("must have 1 to %d bytes", MaxKey)}
	}
	return validate("key", key)
}

// ValidatePrefix returns a *KeyError unless prefix is empty or a valid key.
func ValidatePrefix(prefix string) error {
	return validate("prefix", prefix)
}

func validate(field, key string) error {
	if len(key) > MaxKey {
		return &KeyError{Field: field, Key: key, Reason: fmt.Sprintf("must have at most %d bytes", MaxKey)}
	}
	for i := range len(key) {
		if !allowed(key[i]) {
			return &KeyError{Field: field, Key: key,
				Reason: fmt.Sprintf("byte %q at %d: must be one of [a-z0-9._/-]", key[i:i+1], i)}
		}
	}
	return nil
}

func allowed(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '/' || c == '-'
}

// ValidateValue returns a *ValueError if value has more than MaxValue bytes.
// Any bytes will do, and an empty value as well.
func ValidateValue(value []byte) error {
	if len(value) > MaxValue {
		return &ValueError{Size: len(value)}
	}
	return nil
}
