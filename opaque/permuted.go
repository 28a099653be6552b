package opaque

import (
	"encoding/binary"
	"math"
	"math/bits"

	"snowfence.example/snowfence"
)

// Permuted writes an id as another number of 63 bits, for places that hold nothing but a number.
// Its text is the decimal:
//
//	 63 62                         32 31                          0
//	+--+-----------------------------+-----------------------------+
//	| 0|            left             |            right            |   FF1, radix 2, 63 digits
//	+--+-----------------------------+-----------------------------+
//
// It detects no change: every number of 63 bits is the number of some id. Where n ids are in use, a
// guess meets one with n/2^63. To change the key, give the numbers of the new key a new [Prefixed].
//
// Security: this is FF1 of NIST SP 800-38G over AES, with the purpose as its tweak. If AES is a
// pseudorandom permutation, a number shows only whether it equals another one. The known attacks
// are on small domains: revision 1 of the standard (second draft, February 2025) asks for at least
// 10^6 values. This one has 2^63.
//
// A *Permuted is safe for concurrent use. The zero Permuted can't be used.
type Permuted struct{ ff1 ff1 }

// NewPermuted returns the permutation of a purpose, such as "orders", of 1 to 255 bytes.
// [ErrSetting] is returned for any other purpose and for the zero Key.
func NewPermuted(purpose string, key Key) (*Permuted, error) {
	if err := check(purpose, key); err != nil {
		return nil, err
	}
	return &Permuted{newFF1(key.block, []byte(purpose), 2, 63)}, nil
}

// Permute returns the number of an id. A *[snowfence.IDError] is returned for a negative id.
func (p *Permuted) Permute(id snowfence.ID) (snowfence.ID, error) { return p.apply((*ff1).encrypt, id) }

// Restore returns the id of a number. A *[snowfence.IDError] is returned for a negative number.
func (p *Permuted) Restore(n snowfence.ID) (snowfence.ID, error) { return p.apply((*ff1).decrypt, n) }

// Encode writes the number of an id in decimal, with the error of [Permuted.Permute].
func (p *Permuted) Encode(id snowfence.ID) (string, error) {
	number, err := p.Permute(id)
	if err != nil {
		return "", err
	}
	return number.String(), nil
}

// Decode reads a number as [snowfence.Parse] does, with its errors, and restores the id.
func (p *Permuted) Decode(text string) (snowfence.ID, error) {
	if err := checkID("permuted", p != nil && p.ff1.block != nil, 0); err != nil {
		return 0, err
	}
	number, err := snowfence.Parse(text)
	if err != nil {
		return 0, err
	}
	return p.Restore(number)
}

func (p *Permuted) apply(halves func(f *ff1, left, right uint64) (newLeft, newRight uint64), id snowfence.ID) (snowfence.ID, error) {
	if err := checkID("permuted", p != nil && p.ff1.block != nil, id); err != nil {
		return 0, err
	}
	left, right := halves(&p.ff1, uint64(id)>>32, uint64(id)&math.MaxUint32)
	return snowfence.ID(left<<32 | right), nil
}

// ff1 is method FF1 of NIST SP 800-38G, for one radix, one length and one tweak. A string of n
// numerals is two numbers: its first n/2 numerals and the others. Each has at most 56 bits.
//
// A round is a CBC-MAC over P, the tweak, the number of the round and a half. Only its last
// block differs between rounds. So state is the MAC up to there, and a round is one AES block.
type ff1 struct {
	block   *aesBlock
	state   [2]uint64
	roundAt int       // the lowest bit of the round's number in the last block
	shift   int       // the bits of a block below the d bytes that a round takes of it
	modulus [2]uint64 // of the even rounds, and of the odd ones
}

const ff1Rounds = 10

// newFF1 names the numbers as section 6.2 of the standard does.
func newFF1(block *aesBlock, tweak []byte, radix uint64, n int) ff1 {
	f := ff1{block: block, modulus: [2]uint64{1, 1}}
	for i := range n {
		f.modulus[1-i%2] *= radix
	}
	u := n / 2
	b := (bits.Len64(f.modulus[1]-1) + 7) / 8
	d := (b+3)/4*4 + 4
	f.roundAt, f.shift = 8*b, 128-8*d

	const size = 16
	q := (len(tweak) + 1 + b + size - 1) / size * size
	message := make([]byte, size+q) // P and Q; the round's number and the half are zero
	binary.BigEndian.PutUint64(message, 0x01_02_01<<40|radix<<16|ff1Rounds<<8|uint64(u)&0xff)
	binary.BigEndian.PutUint64(message[8:], uint64(n)<<32|uint64(len(tweak)))
	copy(message[size:], tweak)
	for ; ; message = message[size:] {
		f.state[0] ^= binary.BigEndian.Uint64(message)
		f.state[1] ^= binary.BigEndian.Uint64(message[8:])
		if len(message) == size {
			return f
		}
		f.state = block.encrypt(f.state)
	}
}

func (f *ff1) encrypt(left, right uint64) (newLeft, newRight uint64) {
	for i := range ff1Rounds {
		m := f.modulus[i%2]
		left, right = right, (left+f.round(i, right, m))%m
	}
	return left, right
}

func (f *ff1) decrypt(left, right uint64) (newLeft, newRight uint64) {
	for i := ff1Rounds - 1; i >= 0; i-- {
		m := f.modulus[i%2]
		left, right = (right+m-f.round(i, left, m))%m, left
	}
	return left, right
}

// round returns the number y of a round, modulo m.
func (f *ff1) round(i int, half, m uint64) uint64 {
	y := f.block.encrypt([2]uint64{f.state[0], f.state[1] ^ (uint64(i)<<f.roundAt | half)})
	return bits.Rem64(y[0]>>f.shift, y[0]<<(64-f.shift)|y[1]>>f.shift, m)
}
