package builtin

import (
	"cmp"
	"math"

	"github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/opaque"
)

// hashid is an [opaque.Codec] of hashids (https://hashids.org/) or of Sqids (https://sqids.org/),
// for systems that have such texts already.
//
// Security: none. An attacker can read the numbers. Salts of hashids were recovered
// (https://carnage.github.io/2015/08/cryptanalysis-of-hashids), and Sqids' own FAQ denies that it is
// encryption (https://sqids.org/faq). Many changed texts are the texts of other ids.
type hashid struct {
	form   string
	encode func(n uint64) (string, error)
	decode func(text string) []uint64 // the numbers of a text; several texts may have the same numbers
}

// Encode implements [opaque.Codec].
func (h hashid) Encode(id snowfence.ID) (string, error) {
	if id < 0 {
		return "", h.invalid(id.String(), "has the 64th bit set; the limit is 63 bits")
	}
	return h.encode(uint64(id))
}

// Decode implements [opaque.Codec]. Several texts of Sqids decode to one number, so it encodes the
// number again, and refuses any other text.
func (h hashid) Decode(text string) (snowfence.ID, error) {
	if len(text) <= kind.MaxText {
		if n := h.decode(text); len(n) == 1 && n[0] <= math.MaxInt64 {
			if again, err := h.encode(n[0]); err == nil && again == text {
				return snowfence.ID(n[0]), nil
			}
		}
	}
	return 0, h.invalid(text, "is not how an id is written")
}

func (h hashid) invalid(text, reason string) error {
	return &snowfence.IDError{Form: h.form, Text: text[:min(len(text), 64)], Position: -1, Reason: reason}
}

// newHashids has the alphabet of the library if that is empty.
func newHashids(salt, alphabet string, minLength int) (opaque.Codec, error) {
	h, err := hashids.NewWithData(&hashids.HashIDData{Salt: salt, MinLength: minLength, Alphabet: cmp.Or(alphabet, hashids.DefaultAlphabet)})
	if err != nil {
		return nil, err
	}
	decode := func(text string) (numbers []uint64) {
		all, _ := h.DecodeInt64WithError(text) // Decode compares, too
		for _, n := range all {
			numbers = append(numbers, uint64(n))
		}
		return numbers
	}
	return hashid{"hashids", func(n uint64) (string, error) { return h.EncodeInt64([]int64{int64(n)}) }, decode}, nil
}

// newSqids has the alphabet of the library if that is empty, and its list of words to avoid.
func newSqids(alphabet string, minLength int) (opaque.Codec, error) {
	s, err := sqids.New(sqids.Options{Alphabet: alphabet, MinLength: uint8(minLength)})
	if err != nil {
		return nil, err
	}
	return hashid{"sqids", func(n uint64) (string, error) { return s.Encode([]uint64{n}) }, s.Decode}, nil
}
