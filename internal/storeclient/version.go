package storeclient

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"iter"

	"snowfence.example/snowfence/store"
)

// TokenDigits is the length of a token's text.
const TokenDigits = 2 * len(Token{})

// Token is 128 random bits that each swap writes. They keep a version from
// repeating after a rollback, where any counter would count the same again.
type Token [16]byte

// DrawToken returns a token that never was and never will be again. Nil means
// crypto/rand.
func DrawToken(random io.Reader) (t Token, err error) {
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, t[:]); err != nil {
		return t, fmt.Errorf("draw version: %w", err)
	}
	return t, nil
}

// ParseToken returns the token with that text, and whether there is one.
func ParseToken(text string) (t Token, ok bool) {
	n, err := hex.Decode(t[:], []byte(text[:min(len(text), TokenDigits)]))
	return t, err == nil && n == len(t) && t.String() == text
}

// String returns the token as 32 hexadecimal digits in lower case.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// List returns the sequence of a store's List: the entries that read yields and
// then read's error. An invalid prefix is the first error. read must return soon
// after its yield returned false, and its error is dropped then.
func List(prefix string, read func(yield func(store.Entry) bool) error) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		left := false
		err := store.ValidatePrefix(prefix)
		if err == nil {
			err = read(func(e store.Entry) bool {
				left = !yield(e, nil)
				return !left
			})
		}
		if err != nil && !left {
			yield(store.Entry{}, err)
		}
	}
}
