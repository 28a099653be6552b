package opaque

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"snowfence.example/snowfence"
)

// Sealed writes an id as a token, which only a program with the key can read, change or make. A
// token is a key id and an AES block in 22 digits of base 62, 11 for each half. Case matters:
//
//	 key id   high 64 bits   low 64 bits       the block, deciphered:
//	+------+--------------+--------------+      127 126         64 63         0
//	|   b  | 76JseD7RK5Y  | AhUdxQorLhe  |     +---+------------+-------------+
//	+------+--------------+--------------+     | 0 |     id     |     tag     |
//	                                           +---+------------+-------------+
//
// The tag is the start of a SHA-256 of the purpose. Decode refuses a block without it, so a token
// for orders is none for users, under one key too.
//
// Security: this is encode-then-encipher (Bellare and Rogaway, Asiacrypt 2000). If AES is a strong
// pseudorandom permutation, a token shows only whether it equals another one, and a forgery
// passes with at most 2^-64 for each try.
//
// A *Sealed is safe for concurrent use. The zero Sealed can't be used.
type Sealed struct {
	keys []Key // the first one encodes
	tag  uint64
}

const (
	halfWidth   = 11 // digits of snowfence.ID.Base62, which hold 64 bits
	sealedWidth = 1 + 2*halfWidth
)

// NewSealed returns the form for a purpose, such as "orders", of 1 to 255 bytes. The first key
// encodes. All of them decode, so a change of keys takes three steps: add the new key at the end
// everywhere, put it first everywhere, and remove the old one when its tokens are no longer used.
// [ErrSetting] is returned for any other purpose, without a key, and for two keys of one id.
func NewSealed(purpose string, keys ...Key) (*Sealed, error) {
	if err := check(purpose, keys...); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("snowfence sealed 1\x00" + purpose))
	return &Sealed{slices.Clone(keys), binary.BigEndian.Uint64(sum[:])}, nil
}

// Encode writes the token of 23 characters. A *[snowfence.IDError] is returned for a negative id.
func (s *Sealed) Encode(id snowfence.ID) (string, error) {
	if err := checkID("sealed", s != nil && len(s.keys) > 0, id); err != nil {
		return "", err
	}
	block := s.keys[0].block.encrypt([2]uint64{uint64(id), s.tag})
	text := append(make([]byte, 0, sealedWidth), s.keys[0].id)
	text = snowfence.ID(block[0]).AppendBase62(text)
	return string(snowfence.ID(block[1]).AppendBase62(text)), nil
}

// Decode reads a token of any of the keys. A *[snowfence.IDError] is returned for anything else:
// a token of a key that is not here, one for another purpose, one that was changed or made up.
func (s *Sealed) Decode(text string) (snowfence.ID, error) {
	if err := checkID("sealed", s != nil && len(s.keys) > 0, 0); err != nil {
		return 0, err
	}
	if len(text) != sealedWidth {
		return 0, invalid("sealed", text, -1, "has %d bytes, not %d", len(text), sealedWidth)
	}
	i := find(s.keys, text[0])
	if i < 0 {
		return 0, invalid("sealed", text, 0, "there is no key %q", text[0])
	}
	high, highErr := snowfence.ParseBase62(text[1 : 1+halfWidth])
	low, lowErr := snowfence.ParseBase62(text[1+halfWidth:])
	if err := cmp.Or(highErr, lowErr); err != nil {
		return 0, err
	}
	block := s.keys[i].block.decrypt([2]uint64{uint64(high), uint64(low)})
	if id := snowfence.ID(block[0]); block[1] == s.tag && id >= 0 {
		return id, nil
	}
	return 0, invalid("sealed", text, -1, "was not sealed with this key for this purpose")
}
