package opaque_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/opaque"
)

var roundTrips = flag.Int("opaque.ids", 50_000, "ids of each form that go there and back")

const (
	oldKey = "a 603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
	newKey = "b 2b7e151628aed2a6abf7158809cf4f3c"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func parseKeys(tb testing.TB, lines ...string) []opaque.Key {
	tb.Helper()
	keys, err := opaque.ParseKeys(strings.Join(lines, "\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

func newSealed(tb testing.TB, purpose string, lines ...string) *opaque.Sealed {
	tb.Helper()
	sealed, err := opaque.NewSealed(purpose, parseKeys(tb, lines...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

func newPermuted(tb testing.TB, purpose, line string) *opaque.Permuted {
	tb.Helper()
	permuted, err := opaque.NewPermuted(purpose, parseKeys(tb, line)[0])
	if err != nil {
		tb.Fatal(err)
	}
	return permuted
}

func newPrefixed(tb testing.TB, prefix string, inner opaque.Codec) *opaque.Prefixed {
	tb.Helper()
	prefixed, err := opaque.NewPrefixed(prefix, inner)
	if err != nil {
		tb.Fatal(err)
	}
	return prefixed
}

// codecs returns every form by its name.
func codecs(tb testing.TB) map[string]opaque.Codec {
	tb.Helper()
	sealed := newSealed(tb, "orders", newKey, oldKey)
	return map[string]opaque.Codec{
		"sealed":   sealed,
		"permuted": newPermuted(tb, "orders", newKey),
		"checked":  opaque.Checked{},
		"prefixed": newPrefixed(tb, "order_item", sealed),
		"bare":     newPrefixed(tb, "", opaque.Checked{}),
	}
}

// sampleIDs returns n ids: both ends, ids of one millisecond, and random ones.
func sampleIDs(n int) []snowfence.ID {
	random := rand.New(rand.NewPCG(1, 2))
	ids := []snowfence.ID{0, 1, math.MaxUint32, math.MaxUint32 + 1, snowfence.MaxID - 1, snowfence.MaxID}
	for len(ids) < n {
		ids = append(ids, 1541815603606036480+snowfence.ID(len(ids)), snowfence.ID(random.Int64()))
	}
	return ids[:n]
}

func encode(tb testing.TB, codec opaque.Codec, id snowfence.ID) string {
	tb.Helper()
	text, err := codec.Encode(id)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// mustRefuse checks that a text is refused as no id.
func mustRefuse(tb testing.TB, codec opaque.Codec, text, reason string) {
	tb.Helper()
	id, err := codec.Decode(text)
	var refused *snowfence.IDError
	if id != 0 || !errors.As(err, &refused) || !errors.Is(err, snowfence.ErrInvalidID) {
		tb.Fatalf("%q is read as %v, %v; want an *IDError", text, id, err)
	}
	if !strings.Contains(err.Error(), reason) {
		tb.Errorf("%q is refused with %q, which lacks %q", text, err, reason)
	}
	if len(refused.Text) > 64 {
		tb.Errorf("the error carries %d bytes of the text", len(refused.Text))
	}
}

// The texts are in databases and links, so they must stay. They were computed with
// the AES of openssl, by a second implementation of FF1 and the other forms.
func TestTextsOfKnownIDsNeverChange(t *testing.T) {
	for form, want := range map[string]string{
		"sealed":   "b76JseD7RK5YAhUdxQorLhe",
		"permuted": "938678556533030283",
		"checked":  "1ASD13XH1F800B",
		"prefixed": "order_item_b76JseD7RK5YAhUdxQorLhe",
		"bare":     "1ASD13XH1F800B",
	} {
		if got := encode(t, codecs(t)[form], 1541815603606036480); got != want {
			t.Errorf("%s text is %q, want %q", form, got, want)
		}
	}
	const long = "a purpose of more than sixteen bytes"
	if got := encode(t, newPermuted(t, long, newKey), 1541815603606036480); got != "2530842335833795333" {
		t.Errorf("permuted text for %s is %q", long, got)
	}
}

func TestDecodeReturnsWhatEncodeTook(t *testing.T) {
	for form, codec := range codecs(t) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 4))
			for i := range *roundTrips {
				id := snowfence.ID(i) << 20
				if i%2 == 1 {
					id = snowfence.ID(random.Int64())
				}
				text := encode(t, codec, id)
				if got, err := codec.Decode(text); err != nil || got != id {
					t.Fatalf("%v is written as %q and read as %v, %v", id, text, got, err)
				}
			}
			t.Logf("%d round trips", *roundTrips)
		})
	}
}

func TestNegativeIDIsNeitherWrittenNorRead(t *testing.T) {
	for form, codec := range codecs(t) {
		for _, id := range []snowfence.ID{-1, math.MinInt64} {
			if text, err := codec.Encode(id); text != "" || !errors.Is(err, snowfence.ErrInvalidID) {
				t.Errorf("%s text of %d is %q, %v", form, int64(id), text, err)
			}
		}
	}
	mustRefuse(t, opaque.Checked{}, "FZZZZZZZZZZZZB", "the limit is 63 bits")
	mustRefuse(t, newPermuted(t, "orders", newKey), "9223372036854775808", "above 9223372036854775807")
	if _, err := newPermuted(t, "orders", newKey).Restore(-1); !errors.Is(err, snowfence.ErrInvalidID) {
		t.Errorf("restoring -1: %v", err)
	}
}

func TestPermutedAndSealedSpreadConsecutiveIDsEvenlyOverShards(t *testing.T) {
	const shards, perShard = 64, 2_000
	permuted, sealed := newPermuted(t, "orders", newKey), newSealed(t, "orders", newKey)
	counts := make(map[string]*[shards]int)
	for _, name := range []string{"permuted, last bits", "permuted, first bits", "sealed, last bits", "sealed, first bits"} {
		counts[name] = new([shards]int)
	}
	for i := range shards * perShard {
		id := snowfence.ID(1541815603606036480 + i)
		number, err := permuted.Permute(id)
		if err != nil {
			t.Fatal(err)
		}
		counts["permuted, last bits"][number%shards]++
		counts["permuted, first bits"][number>>57]++
		high, low := blockOf(t, encode(t, sealed, id))
		counts["sealed, last bits"][low%shards]++
		counts["sealed, first bits"][high>>58]++
	}
	// With 63 degrees of freedom 99.9 % of even spreads are below the upper limit, and 99.9 %
	// above the lower one. The keys are fixed, so the outcome is too.
	const lower, upper = 34.0, 103.4
	for name, count := range counts {
		var chi float64
		for _, n := range count {
			chi += float64(n-perShard) * float64(n-perShard) / perShard
		}
		t.Logf("%s: chi-square %.1f", name, chi)
		if chi < lower || chi > upper {
			t.Errorf("%s: chi-square is %.1f, not %v to %v", name, chi, lower, upper)
		}
	}
}

func TestCodecsAreSafeForConcurrentUse(t *testing.T) {
	for _, codec := range codecs(t) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for _, id := range sampleIDs(500) {
					text, err := codec.Encode(id)
					if err != nil {
						t.Error(err)
					}
					if got, err := codec.Decode(text); err != nil || got != id {
						t.Errorf("%v is read as %v, %v", id, got, err)
					}
				}
			})
		}
		group.Wait()
	}
}

func TestPermuteDoesNotAllocate(t *testing.T) {
	permuted := newPermuted(t, "orders", newKey)
	allocations := testing.AllocsPerRun(1000, func() {
		number, err := permuted.Permute(1541815603606036480)
		if err != nil {
			t.Error(err)
		}
		if _, err := permuted.Restore(number); err != nil {
			t.Error(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations a round trip", allocations)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	keys := parseKeys(t, newKey, oldKey)
	for name, try := range map[string]func() error{
		"the purpose has 0 bytes, not 1 to 255": func() error { _, err := opaque.NewSealed("", keys...); return err },
		"the purpose has 256 bytes":             func() error { _, err := opaque.NewPermuted(strings.Repeat("p", 256), keys[0]); return err },
		"there are 0 keys":                      func() error { _, err := opaque.NewSealed("orders"); return err },
		"key 2 of 2 is the zero Key":            func() error { _, err := opaque.NewSealed("orders", keys[0], opaque.Key{}); return err },
		"key 1 of 1 is the zero Key":            func() error { _, err := opaque.NewPermuted("orders", opaque.Key{}); return err },
		"key 'b' is given twice":                func() error { _, err := opaque.NewSealed("orders", keys[0], keys[1], keys[0]); return err },
		`prefix "Order" is not`:                 func() error { _, err := opaque.NewPrefixed("Order", opaque.Checked{}); return err },
		"form prefixed has no key and no inner": func() error { _, err := opaque.NewPrefixed("order", nil); return err },
		"the secret of key 'a' has 15 bytes":    func() error { _, err := opaque.NewKey('a', make([]byte, 15)); return err },
		"is not one of 0-9, A-Z, a-z":           func() error { _, err := opaque.NewKey('_', make([]byte, 16)); return err },
	} {
		err := try()
		if !errors.Is(err, opaque.ErrSetting) || snowfence.ClassOf(err) != snowfence.ClassUsage || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, want one that names %q", err, name)
		}
	}
}

func TestZeroValueIsRefusedAndDoesNotPanic(t *testing.T) {
	for form, codecs := range map[string][]opaque.Codec{
		"sealed":   {new(opaque.Sealed), (*opaque.Sealed)(nil)},
		"permuted": {new(opaque.Permuted), (*opaque.Permuted)(nil)},
		"prefixed": {new(opaque.Prefixed), (*opaque.Prefixed)(nil)},
	} {
		for _, codec := range codecs {
			want := "form " + form + " has no key and no inner form"
			if text, err := codec.Encode(1); text != "" || !errors.Is(err, opaque.ErrSetting) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: written as %q, %v", form, text, err)
			}
			if p, err := opaque.NewPrefixed("order", codec); p != nil || !errors.Is(err, opaque.ErrSetting) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: prefixed as %v, %v", form, p, err)
			}
			for _, text := range []string{"1", "", "b76JseD7RK5YAhUdxQorLhe", "_1"} {
				if id, err := codec.Decode(text); id != 0 || !errors.Is(err, opaque.ErrSetting) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is read as %v, %v", form, text, id, err)
				}
			}
		}
	}
}

// Every text that is read is a text that is written.
func FuzzDecode(f *testing.F) {
	forms := codecs(f)
	for _, codec := range forms {
		for _, id := range sampleIDs(8) {
			f.Add(encode(f, codec, id))
		}
	}
	f.Add("01axqg-dfwm-0g0j")
	f.Add("_")
	f.Fuzz(func(t *testing.T, text string) {
		for form, codec := range forms {
			id, err := codec.Decode(text)
			if err != nil {
				if id != 0 || !errors.Is(err, snowfence.ErrInvalidID) {
					t.Errorf("%s: %q is read as %v, %v", form, text, id, err)
				}
				continue
			}
			want := text
			if form == "checked" || form == "bare" {
				want = spelling(text)
			}
			if written := encode(t, codec, id); written != want {
				t.Errorf("%s: %q is read as %v, which is written as %q", form, text, id, written)
			}
		}
	})
}

func BenchmarkForms(b *testing.B) {
	for form, codec := range codecs(b) {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := codec.Decode(encode(b, codec, snowfence.ID(i))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// blockOf returns the halves of the AES block of a sealed text.
func blockOf(tb testing.TB, text string) (high, low uint64) {
	tb.Helper()
	var halves [2]uint64
	for i, part := range []string{text[1:12], text[12:]} {
		half, err := snowfence.ParseBase62(part)
		if err != nil {
			tb.Fatal(err)
		}
		halves[i] = uint64(half)
	}
	return halves[0], halves[1]
}

// withBlock returns a sealed text with another block.
func withBlock(text string, high, low uint64) string {
	return fmt.Sprintf("%c%s%s", text[0], snowfence.ID(high).Base62(), snowfence.ID(low).Base62())
}
