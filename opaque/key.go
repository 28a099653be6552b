package opaque

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Key is an AES key with an id, which stands in the texts of the key. It does not give its secret
// back, so package fmt, package slog and encoders can't show it. Use a key for one form only. The
// zero Key is refused everywhere. A Key is safe for concurrent use.
type Key struct {
	id    byte
	block *aesBlock // nil in the zero Key
}

// NewKey returns the key with the id, one of 0-9, A-Z and a-z, and a secret of 16, 24 or 32
// bytes for AES-128, AES-192 or AES-256, not one byte again and again. It does not keep the slice. [ErrSetting] is
// returned for anything else.
func NewKey(id byte, secret []byte) (Key, error) {
	// The id is not shown: it may be a part of a secret that is in the wrong place.
	if !('0' <= id && id <= '9' || 'A' <= id && id <= 'Z' || 'a' <= id && id <= 'z') {
		return Key{}, fmt.Errorf("%w: the id of the key is not one of 0-9, A-Z, a-z", ErrSetting)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Key{}, fmt.Errorf("%w: the secret of key %q has %d bytes, not 16, 24 or 32", ErrSetting, id, len(secret))
	}
	if !slices.ContainsFunc(secret, func(b byte) bool { return b != secret[0] }) {
		return Key{}, fmt.Errorf("%w: the secret of key %q is one byte again and again: use random bytes", ErrSetting, id)
	}
	return Key{id, &aesBlock{cipher: block}}, nil
}

// ParseKeys reads the content of a file or variable of keys, one a line:
//
//	# since May
//	b 2b7e151628aed2a6abf7158809cf4f3c
//	# until May
//	a 603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4
//
// A line has the id and the secret of [NewKey], the secret in hexadecimal. The first key encodes,
// the others only decode. No two have one secret. Blank lines are allowed, and # begins a comment. [ErrSetting] is returned
// for anything else, and when there is no key. Errors name the line, and hide the secret.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	lines := map[string]int{} // by the secret
	for i, line := range strings.Split(text, "\n") {
		content, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(content)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 || len(fields[0]) != 1 {
			return nil, fmt.Errorf("line %d: %w: it is not an id of 1 character and a secret", i+1, ErrSetting)
		}
		secret, err := hex.DecodeString(fields[1])
		if err != nil { // it shows a byte, and is left out
			return nil, fmt.Errorf("line %d: %w: the secret is not 32, 48 or 64 hexadecimal digits", i+1, ErrSetting)
		}
		key, err := NewKey(fields[0][0], secret)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if first, twice := lines[string(secret)]; twice {
			return nil, fmt.Errorf("line %d: %w: the secret is that of line %d, so one key would have two ids", i+1, ErrSetting, first)
		}
		lines[string(secret)] = i + 1
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there are 0 keys in the text, and at least 1 is needed", ErrSetting)
	}
	return keys, nil
}

// String names the key by its id.
func (k Key) String() string { return fmt.Sprintf("key %q", k.id) }

// SameSecret reports whether two keys have one secret, whatever their ids. The zero Key has none.
func (k Key) SameSecret(other Key) bool {
	return k.block != nil && other.block != nil && k.block.encrypt([2]uint64{}) == other.block.encrypt([2]uint64{})
}

// check refuses an empty purpose, because texts for all uses would be interchangeable.
func check(purpose string, keys ...Key) error {
	if purpose == "" || len(purpose) > 255 {
		return fmt.Errorf("%w: the purpose has %d bytes, not 1 to 255", ErrSetting, len(purpose))
	}
	if len(keys) == 0 {
		return fmt.Errorf("%w: there are 0 keys, and at least 1 is needed", ErrSetting)
	}
	for i, key := range keys {
		if key.block == nil {
			return fmt.Errorf("%w: key %d of %d is the zero Key", ErrSetting, i+1, len(keys))
		}
		if find(keys, key.id) < i {
			return fmt.Errorf("%w: key %q is given twice", ErrSetting, key.id)
		}
	}
	return nil
}

// find returns the index of the first key with the id, or -1.
func find(keys []Key, id byte) int {
	return slices.IndexFunc(keys, func(key Key) bool { return key.id == id })
}

// aesBlock is AES over two words, the first byte the highest. It is safe for concurrent use and
// must not be copied.
type aesBlock struct {
	cipher  cipher.Block
	buffers sync.Pool // of *[aes.BlockSize]byte, which would else escape through cipher at each call
}

func (a *aesBlock) encrypt(in [2]uint64) [2]uint64 { return a.apply(a.cipher.Encrypt, in) }
func (a *aesBlock) decrypt(in [2]uint64) [2]uint64 { return a.apply(a.cipher.Decrypt, in) }

func (a *aesBlock) apply(do func(dst, src []byte), in [2]uint64) [2]uint64 {
	buffer, ok := a.buffers.Get().(*[aes.BlockSize]byte)
	if !ok {
		buffer = new([aes.BlockSize]byte)
	}
	defer a.buffers.Put(buffer)
	binary.BigEndian.PutUint64(buffer[:8], in[0])
	binary.BigEndian.PutUint64(buffer[8:], in[1])
	do(buffer[:], buffer[:])
	return [2]uint64{binary.BigEndian.Uint64(buffer[:8]), binary.BigEndian.Uint64(buffer[8:])}
}
