package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

func TestEveryEncodingOfAnIDIsRead(t *testing.T) {
	for _, id := range []snowfence.ID{0, 1, 7, 4096, 1541815603606036480, snowfence.MaxID} {
		e := Encode(id)
		for _, text := range []string{e.Decimal, e.FixedDecimal, e.Hex, "0x" + e.Hex, e.Base32, strings.ToLower(e.Base32), e.Base62} {
			readings, err := Read(text)
			if err != nil {
				t.Errorf("Read(%q): %v", text, err)
				continue
			}
			found := false
			for _, r := range readings {
				found = found || r.ID == id
			}
			if !found {
				t.Errorf("Read(%q) = %v, without %d", text, readings, id)
			}
		}
		for _, encoding := range EncodingNames() {
			if r, err := ReadAs(encoding.Text(id), encoding); err != nil || r.ID != id || r.Encoding != encoding {
				t.Errorf("ReadAs(%q, %s) = %v, %v", encoding.Text(id), encoding, r, err)
			}
		}
	}
}

func TestShortHexNeedsItsPrefix(t *testing.T) {
	for text, want := range map[string]bool{"abc": false, "0xabc": true, "DEAD": false, "deadbeefdeadbeef": true, "12": true} {
		if r, err := Readings(text, ""); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "write 0x"+text) {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	if _, err := Readings("abc", Hex); err != nil {
		t.Error(err)
	}
}

func TestAmbiguousTextsAreReadInOrder(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000000007":  "decimal 7",
		"18446744073709551615": "decimal 18446744073709551615",
		"3125927076831231":     "decimal 3125927076831231, hex 3541397693719056945",
		"1234567890123":        "decimal 1234567890123, base32 1228503247364293699",
		"12345678901":          "decimal 12345678901, base62 867042935339397333",
		"00000000001":          "base62 1",
		"0000000000001":        "base32 1",
		"deadbeef":             "hex 3735928559",
		"0X1565a11f6217a000":   "hex 1541815603606036480",
		"1ptWyK4WgZU":          "base62 1541815603606036480",
		"1asd13xhlf8oo":        "base32 1541815603606036480",
	} {
		readings, err := Read(text)
		var got []string
		for _, r := range readings {
			got = append(got, fmt.Sprintf("%s %s", r.Encoding, r.Text))
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("Read(%q) = %s, %v; want %s", text, strings.Join(got, ", "), err, want)
		}
	}
}

func TestTextsThatAreNoIDAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "hello", "-1", "+1", "1 2", "007", "18446744073709551616", "0x", "0X", "0xg", "0x10000000000000000",
		"1.5", "zzzzzzzzzzz", "ZZZZZZZZZZZZZ", "1541815603606036480\n", "١٢٣",
	} {
		if readings, err := Read(text); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("Read(%q) = %v, %v; want ErrInvalidID", text, readings, err)
		}
	}
	for text, encoding := range map[string]Encoding{"12": Base32, "13": Base62, "g": Hex, "ff": Decimal} {
		if r, err := ReadAs(text, encoding); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("ReadAs(%q, %s) = %v, %v; want ErrInvalidID", text, encoding, r, err)
		}
	}
}

func TestErrorCarriesOnlyTheBeginningOfALongText(t *testing.T) {
	_, err := Read(strings.Repeat("?", 5000))
	var bad *snowfence.IDError
	if !errors.As(err, &bad) || bad.Text != strings.Repeat("?", 64) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"1541815603606036480", "0x1565a11f6217a000", "1ptWyK4WgZU", "1ASD13XH1F800", "007", "deadbeef"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		readings, err := Read(s)
		if (err == nil) != (len(readings) > 0) {
			t.Fatalf("Read(%q) = %v, %v", s, readings, err)
		}
		for i, r := range readings {
			if r.Text != r.ID.String() {
				t.Errorf("Read(%q): text %q of id %s", s, r.Text, r.ID)
			}
			for _, other := range readings[:i] {
				if other.ID == r.ID {
					t.Errorf("Read(%q) has %s twice", s, r.ID)
				}
			}
			// An encoding reads its own texts; a decimal of 64 bits included.
			if again, err := ReadAs(r.Encoding.Text(r.ID), r.Encoding); err != nil || again != r {
				t.Errorf("ReadAs(%q, %s) = %v, %v; want %v", r.Encoding.Text(r.ID), r.Encoding, again, err, r)
			}
			for _, c := range Guess(r.ID, now) {
				if c.Result.ID != r.ID {
					t.Errorf("Guess(%s) decodes %s", r.ID, c.Result.ID)
				}
			}
		}
	})
}
