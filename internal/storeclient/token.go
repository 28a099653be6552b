package storeclient

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
)

// TokenDigits is the length of a token's text.
const TokenDigits = 2 * len(Token{})

// Token is 128 random bits that each swap writes. They keep a version from
// repeating after a rollback, where any counter would count the same again.
type Token [16]byte

// DrawToken returns a token that never was and never will be again. Nil means
// crypto/rand.
func DrawToken(random io.Reader) (t Token, err error) {
	if _, err := io.ReadFull(cmp.Or(random, rand.Reader), t[:]); err != nil {
		return t, fmt.Errorf("draw version: %w", err)
	}
	return t, nil
}

// ParseToken returns the token with that text, and whether there is one.
func ParseToken(text string) (t Token, ok bool) {
	n, err := hex.Decode(t[:], []byte(text[:min(len(text), TokenDigits)]))
	return t, err == nil && n == len(t) && t.String() == text
}

// IsToken reports whether a text is a token's.
func IsToken(text string) bool {
	_, ok := ParseToken(text)
	return ok
}

// String returns the token as 32 hexadecimal digits in lower case.
func (t Token) String() string { return hex.EncodeToString(t[:]) }
