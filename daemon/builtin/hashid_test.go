package builtin

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/opaque"
)

// must returns a value that a test has made itself, and fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// hashidsOf returns both libraries, with the users' settings.
func hashidsOf(t testing.TB) map[string]opaque.Codec {
	codec := must[opaque.Codec](t)
	return map[string]opaque.Codec{
		"hashids":            codec(newHashids("", "", 0)),
		"hashids, salted":    codec(newHashids("this is my salt", "", 0)),
		"hashids, least":     codec(newHashids("salt", "0123456789abcdef", mostLength)),
		"sqids":              codec(newSqids("", 0)),
		"sqids, long":        codec(newSqids("", mostLength)),
		"sqids, three":       codec(newSqids("xyz", 0)),
		"sqids, three, long": codec(newSqids("xyz", mostLength)),
	}
}

func mustRefuse(t *testing.T, c opaque.Codec, text string) {
	t.Helper()
	var wrong *snowfence.IDError
	if id, err := c.Decode(text); id != 0 || !errors.As(err, &wrong) || len(wrong.Text) > 64 {
		t.Errorf("%q is read as %v, %v", text, id, err)
	}
}

func TestHashidIsReadAsItIsWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ids := []snowfence.ID{0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for range 500 {
		ids = append(ids, snowfence.ID(random.Uint64()>>(1+random.IntN(63))))
	}
	for name, c := range hashidsOf(t) {
		for _, id := range ids {
			text, err := c.Encode(id)
			if err != nil {
				t.Fatal(name, id, err)
			}
			// The longest prefix and its underscore go before it.
			if got, err := c.Decode(text); err != nil || got != id || len(text)+64 > kind.MaxText {
				t.Errorf("%s: %d is written as %q and read as %v, %v", name, id, text, got, err)
			}
		}
		if text, err := c.Encode(-1); text != "" || !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("%s: -1 is written as %q, %v", name, text, err)
		}
	}
}

func TestHashidsAreThoseOfTheLibraries(t *testing.T) {
	all := hashidsOf(t)
	for _, test := range []struct {
		codec string
		id    snowfence.ID
		text  string
	}{
		{"hashids, salted", 12345, "NkK9"}, // https://hashids.org/
		{"sqids", 0, "bM"},                 // https://github.com/sqids/sqids-spec, encoding tests
		{"sqids", 1, "Uk"},
		{"sqids", 9, "nJ"},
	} {
		if text, err := all[test.codec].Encode(test.id); err != nil || text != test.text {
			t.Errorf("%s: %d is written as %q, %v, want %q", test.codec, test.id, text, err, test.text)
		}
	}
}

func TestOnlyOneOfManySqidsOfANumberIsRead(t *testing.T) {
	plain := must[*sqids.Sqids](t)(sqids.New())
	c := hashidsOf(t)["sqids"]
	texts, read := map[uint64]int{}, map[uint64]int{} // by number
	for _, first := range hashids.DefaultAlphabet {
		for _, second := range hashids.DefaultAlphabet {
			text := string([]rune{first, second})
			numbers := plain.Decode(text)
			if len(numbers) == 1 {
				texts[numbers[0]]++
			}
			if id, err := c.Decode(text); err == nil {
				read[uint64(id)]++
			}
		}
	}
	if len(texts) == 0 || len(read) == 0 {
		t.Fatal("no text is read")
	}
	for n, count := range texts {
		if count < 2 || read[n] > 1 {
			t.Errorf("of %d texts of %d, %d are read", count, n, read[n])
		}
	}

	// A word that is to be avoided makes the library write the number in another way.
	for _, n := range []uint64{4_815_162_342, 1541815603606036480, math.MaxInt64} {
		avoided := []string{strings.ToLower(must[string](t)(plain.Encode([]uint64{n})))}
		for range 20 {
			s := must[*sqids.Sqids](t)(sqids.New(sqids.Options{Blocklist: avoided}))
			other := must[string](t)(s.Encode([]uint64{n}))
			if got := plain.Decode(other); len(got) != 1 || got[0] != n {
				t.Fatalf("%d: the library reads %q as %d", n, other, got)
			}
			mustRefuse(t, c, other)
			avoided = append(avoided, strings.ToLower(other))
		}
	}
}

func TestHashidOfNoneOrSeveralNumbersIsRefused(t *testing.T) {
	h := must[*hashids.HashID](t)(hashids.New())
	s := must[*sqids.Sqids](t)(sqids.New())
	all := hashidsOf(t)
	for _, numbers := range [][]uint64{{1, 2}, {1, 2, 3}, {0, 0}} {
		mustRefuse(t, all["sqids"], must[string](t)(s.Encode(numbers)))
	}
	mustRefuse(t, all["sqids"], must[string](t)(s.Encode([]uint64{1 << 63})))
	mustRefuse(t, all["hashids"], must[string](t)(h.EncodeInt64([]int64{1, 2})))
	mustRefuse(t, all["hashids"], must[string](t)(h.EncodeHex("7fffffffffffffff")))
	for _, c := range all {
		for _, text := range []string{"", " ", "-", "é", "\x00", "\xff", strings.Repeat("a", 1<<16), strings.Repeat("x", 200), strings.Repeat("0", kind.MaxText)} {
			mustRefuse(t, c, text)
		}
	}
}

func TestHashidOfAnotherSaltIsRefused(t *testing.T) {
	all := hashidsOf(t)
	refused := 0
	const ids = 1000
	for id := range snowfence.ID(ids) {
		text := must[string](t)(all["hashids, salted"].Encode(id << 40))
		got, err := all["hashids"].Decode(text)
		if err != nil {
			refused++
		} else if got == id<<40 && id > 0 {
			t.Errorf("%q is read as %d by both", text, got)
		}
	}
	// The salt is no key: now and then a text is that of another id under another salt.
	if refused < ids*9/10 {
		t.Errorf("%d of %d were refused", refused, ids)
	}
}

func FuzzHashidIsReadAsItIsWritten(f *testing.F) {
	for _, text := range []string{"NkK9", "bM", "86Rf07", "", "xxyxzy", "jR"} {
		f.Add(text)
	}
	all := hashidsOf(f)
	f.Fuzz(func(t *testing.T, text string) {
		for name, c := range all {
			id, err := c.Decode(text)
			if err != nil {
				if !errors.Is(err, snowfence.ErrInvalidID) {
					t.Errorf("%s: %q: %v", name, text, err)
				}
				continue
			}
			if again, err := c.Encode(id); err != nil || again != text {
				t.Errorf("%s: %q is read as %d, which is written as %q, %v", name, text, id, again, err)
			}
		}
	})
}
