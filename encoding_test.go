package snowfence

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// formUnderTest is a fixed-width form as a user sees it.
type formUnderTest struct {
	name   string
	width  int
	write  func(ID) string
	append func(ID, []byte) []byte
	parse  func(string) (ID, error)
}

var fixedForms = []formUnderTest{
	{"decimal", 19, ID.FixedDecimal, ID.AppendFixedDecimal, ParseFixedDecimal},
	{"hex", 16, ID.Hex, ID.AppendHex, ParseHex},
	{"base32", 13, ID.Base32, ID.AppendBase32, ParseBase32},
	{"base62", 11, ID.Base62, ID.AppendBase62, ParseBase62},
}

func TestFixedFormsOfKnownIDs(t *testing.T) {
	for _, test := range []struct {
		id                           ID
		decimal, hex, base32, base62 string
	}{
		{0, "0000000000000000000", "0000000000000000", "0000000000000", "00000000000"},
		{61, "0000000000000000061", "000000000000003d", "000000000001X", "0000000000z"},
		{62, "0000000000000000062", "000000000000003e", "000000000001Y", "00000000010"},
		{1 << 60, "1152921504606846976", "1000000000000000", "1000000000000", "1NAOLcol8qW"},
		{MaxID, "9223372036854775807", "7fffffffffffffff", "7ZZZZZZZZZZZZ", "AzL8n0Y58m7"},
		{math.MinInt64, "9223372036854775808", "8000000000000000", "8000000000000", "AzL8n0Y58m8"},
		{-1, "18446744073709551615", "ffffffffffffffff", "FZZZZZZZZZZZZ", "LygHa16AHYF"},
	} {
		for i, want := range []string{test.decimal, test.hex, test.base32, test.base62} {
			if got := fixedForms[i].write(test.id); got != want {
				t.Errorf("%s of %d is %q, want %q", fixedForms[i].name, int64(test.id), got, want)
			}
		}
	}
}

func TestFixedFormsRoundTrip(t *testing.T) {
	for _, form := range fixedForms {
		ids := sampleIDs()
		if form.name != "decimal" {
			ids = append(ids, negativeIDs()...)
		}
		for _, id := range ids {
			text := form.write(id)
			if len(text) != form.width {
				t.Errorf("%s of %d is %q, %d wide", form.name, int64(id), text, len(text))
			}
			if got, err := form.parse(text); err != nil || got != id {
				t.Errorf("%s %q is read as %d, %v, want %d", form.name, text, int64(got), err, int64(id))
			}
			if got := form.append(id, []byte("id:")); string(got) != "id:"+text {
				t.Errorf("appended %s of %d is %q", form.name, int64(id), got)
			}
		}
	}
}

func TestFixedFormsSortAsTheNumbersDo(t *testing.T) {
	ids := sampleIDs()
	for _, form := range fixedForms {
		slices.SortFunc(ids, func(a, b ID) int { return strings.Compare(form.write(a), form.write(b)) })
		if !slices.IsSorted(ids) {
			t.Errorf("sorted by %s: %d", form.name, ids)
		}
	}
}

func TestCrockfordsAliasesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"7zzzzzzzzzzzz": "7ZZZZZZZZZZZZ",
		"0o0O0O0O0O0OO": "0000000000000",
		"1iIlL1iIlL1iI": "1111111111111",
		"0abcdefghjkmn": "0ABCDEFGHJKMN",
		"0pqrstvwxyz01": "0PQRSTVWXYZ01",
	} {
		if got, err := ParseBase32(text); err != nil || got.Base32() != want {
			t.Errorf("%q is read as %q, %v, want %q", text, got.Base32(), err, want)
		}
	}
}

func TestFixedFormsRefuseWhatTheyCannotHold(t *testing.T) {
	for _, test := range []struct {
		form, text string
		position   int
		reason     string
	}{
		{"decimal", "", -1, "has 0 bytes, not 19"},
		{"decimal", "00000000000000000001", -1, "has 20 bytes, not 19"},
		{"decimal", "9223372036854775808", -1, "is above 9223372036854775807"},
		{"decimal", "-000000000000000001", 0, "'-' is no"},
		{"hex", "00000000000000G0", 14, "'G' is no hex digit"},
		{"hex", "fffffffffffffff", -1, "has 15 bytes, not 16"},
		{"base32", "000000000000U", 12, "'U' is no base32 digit"},
		{"base32", "00000-0000000", 5, "'-' is no base32 digit"},
		{"base32", "G000000000000", -1, "is above 18446744073709551615"},
		{"base62", "LygHa16AHYG", -1, "is above 18446744073709551615"},
		{"base62", "000000000é", 9, "is no base62 digit"},
	} {
		i := slices.IndexFunc(fixedForms, func(f formUnderTest) bool { return f.name == test.form })
		_, err := fixedForms[i].parse(test.text)
		checkRefusal(t, err, test.text, test.position, test.reason)
	}
}

func TestAppendingAndParsingDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 64)
	id := ID(1541815603606036480)
	text, decimal := []byte(id.String()), id.FixedDecimal()
	var back ID
	for name, call := range map[string]func(){
		"AppendFixedDecimal": func() { dst = id.AppendFixedDecimal(dst[:0]) },
		"AppendHex":          func() { dst = id.AppendHex(dst[:0]) },
		"AppendBase32":       func() { dst = id.AppendBase32(dst[:0]) },
		"AppendBase62":       func() { dst = id.AppendBase62(dst[:0]) },
		"AppendText":         func() { dst, _ = id.AppendText(dst[:0]) },
		"AppendBinary":       func() { dst, _ = id.AppendBinary(dst[:0]) },
		"UnmarshalText":      func() { _ = back.UnmarshalText(text) },
		"UnmarshalJSON":      func() { _ = back.UnmarshalJSON(text) },
		"ParseFixedDecimal":  func() { back, _ = ParseFixedDecimal(decimal) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times a call", name, n)
		}
	}
	if back != id {
		t.Errorf("read back %d", int64(back))
	}
}

func FuzzFixedForms(f *testing.F) {
	for _, a := range sampleIDs() {
		f.Add(int64(a), int64(a)+1)
	}
	f.Add(int64(-1), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, a, b int64) {
		for _, form := range fixedForms {
			if form.name == "decimal" && (a < 0 || b < 0) {
				continue
			}
			x, y := form.write(ID(a)), form.write(ID(b))
			if cmp.Compare(x, y) != cmp.Compare(uint64(a), uint64(b)) {
				t.Errorf("%s: %q and %q sort otherwise than %d and %d", form.name, x, y, a, b)
			}
			if back, err := form.parse(x); err != nil || back != ID(a) {
				t.Errorf("%s: %q is read as %d, %v, want %d", form.name, x, int64(back), err, a)
			}
		}
	})
}

func FuzzParseFixedForms(f *testing.F) {
	for _, form := range fixedForms {
		f.Add(form.write(1541815603606036480))
		f.Add(strings.Repeat("Z", form.width))
		f.Add(strings.Repeat("l", form.width))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range fixedForms {
			id, err := form.parse(s)
			if err != nil {
				if !errors.Is(err, ErrInvalidID) {
					t.Errorf("%s %q: %v is no ErrInvalidID", form.name, s, err)
				}
				continue
			}
			canonical := s
			switch form.name {
			case "hex":
				canonical = strings.ToLower(s)
			case "base32":
				canonical = strings.NewReplacer("I", "1", "L", "1", "O", "0").Replace(strings.ToUpper(s))
			}
			if form.write(id) != canonical {
				t.Errorf("%s %q is written as %q", form.name, s, form.write(id))
			}
		}
	})
}

// BenchmarkForms measures each step between parts, ids and texts.
func BenchmarkForms(b *testing.B) {
	const id = ID(1541815603606036480)
	l, p, dst, now, text := DefaultLayout(), Parts{Tick: 123456789, Worker: 7, Sequence: 42}, make([]byte, 0, 64), time.Now(), id.String()
	calls := map[string]func() error{
		"compose":     func() error { _, err := l.Compose(p); return err },
		"decompose":   func() error { _, err := l.Decompose(id); return err },
		"tick":        func() error { l.TickAt(now); return nil },
		"append text": func() (err error) { dst, err = id.AppendText(dst[:0]); return err },
		"parse text":  func() error { _, err := Parse(text); return err },
	}
	for _, form := range fixedForms {
		text := form.write(id)
		calls["append "+form.name] = func() error { dst = form.append(id, dst[:0]); return nil }
		calls["parse "+form.name] = func() error { _, err := form.parse(text); return err }
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := calls[name](); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
