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
			if got, _, err := Read(text, ""); err != nil || got != id {
				t.Errorf("Read(%q) = %d, %v, not %d", text, got, err, id)
			}
		}
		for _, encoding := range EncodingNames() {
			if got, as, err := Read(encoding.Text(id), encoding); err != nil || got != id || as != encoding {
				t.Errorf("Read(%q, %s) = %v, %s, %v", encoding.Text(id), encoding, got, as, err)
			}
		}
	}
}

func TestShortHexNeedsItsPrefix(t *testing.T) {
	for text, want := range map[string]bool{"abc": false, "0xabc": true, "DEAD": false, "deadbeefdeadbeef": true, "12": true} {
		if id, _, err := Read(text, ""); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "write 0x"+text) {
			t.Errorf("%s: %v, %v", text, id, err)
		}
	}
	if _, _, err := Read("abc", Hex); err != nil {
		t.Error(err)
	}
}

func TestAmbiguousTextIsReadInItsLikeliestEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000000007":  "decimal 7",
		"18446744073709551615": "decimal 18446744073709551615",
		"3125927076831231":     "decimal 3125927076831231",
		"1234567890123":        "decimal 1234567890123",
		"12345678901":          "decimal 12345678901",
		"00000000001":          "base62 1",
		"0000000000001":        "base32 1",
		"0X1565a11f6217a000":   "hex 1541815603606036480",
		"1ptWyK4WgZU":          "base62 1541815603606036480",
		"1asd13xhlf8oo":        "base32 1541815603606036480",
	} {
		if id, as, err := Read(text, ""); err != nil || fmt.Sprintf("%s %s", as, id) != want {
			t.Errorf("Read(%q) = %s %s, %v; want %s", text, as, id, err, want)
		}
	}
}

func TestTextsThatAreNoIDAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "hello", "deadbeef", "-1", "+1", "1 2", "007", "18446744073709551616", "0x", "0X", "0xg", "0x10000000000000000",
		"1.5", "zzzzzzzzzzz", "ZZZZZZZZZZZZZ", "1541815603606036480\n", "١٢٣",
	} {
		if id, _, err := Read(text, ""); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("Read(%q) = %v, %v; want ErrInvalidID", text, id, err)
		}
	}
	for text, encoding := range map[string]Encoding{"12": Base32, "13": Base62, "g": Hex, "ff": Decimal} {
		if id, err := ReadAs(text, encoding); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("ReadAs(%q, %s) = %v, %v; want ErrInvalidID", text, encoding, id, err)
		}
	}
}

func TestErrorCarriesOnlyTheBeginningOfALongText(t *testing.T) {
	_, _, err := Read(strings.Repeat("?", 5000), "")
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
		id, as, err := Read(s, "")
		if err != nil {
			return
		}
		// An encoding reads its own texts; a decimal of 64 bits included.
		if again, err := ReadAs(as.Text(id), as); err != nil || again != id {
			t.Errorf("ReadAs(%q, %s) = %v, %v; want %v", as.Text(id), as, again, err, id)
		}
		for _, c := range Guess(id, now) {
			if c.ID != id.String() {
				t.Errorf("Guess(%s) decodes %s", id, c.ID)
			}
		}
	})
}
