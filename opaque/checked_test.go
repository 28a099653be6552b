package opaque_test

import (
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/opaque"
)

// spelling returns how a text is written that is read by Crockford's rules.
func spelling(text string) string {
	return strings.NewReplacer("-", "", "I", "1", "L", "1", "O", "0").Replace(strings.ToUpper(text))
}

func TestCheckedTextWithOneWrongCharacterIsRefused(t *testing.T) {
	var checked opaque.Checked
	for _, id := range sampleIDs(40) {
		text := encode(t, checked, id)
		for i := range text {
			for c := range 256 {
				changed := text[:i] + string([]byte{byte(c)}) + text[i+1:]
				if c < 128 && spelling(changed) == text {
					continue
				}
				mustRefuse(t, checked, changed, "")
			}
			mustRefuse(t, checked, text[:i]+text[i+1:], "has 13 bytes without hyphens, not 14")
		}
	}
}

func TestCheckedTextWithTwoNeighboursSwappedIsRefused(t *testing.T) {
	var checked opaque.Checked
	for _, id := range sampleIDs(1000) {
		text := encode(t, checked, id)
		for i := range len(text) - 1 {
			if text[i] != text[i+1] {
				mustRefuse(t, checked, text[:i]+text[i+1:i+2]+text[i:i+1]+text[i+2:], "")
			}
		}
	}
}

func TestEachCheckSymbolIsWrittenAndRead(t *testing.T) {
	var checked opaque.Checked
	const symbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U" // https://www.crockford.com/base32.html
	for i, symbol := range symbols {
		text := encode(t, checked, snowfence.ID(i))
		if text[13:] != string(symbol) {
			t.Errorf("%d is written as %q, without %q", i, text, symbol)
		}
		if id, err := checked.Decode(strings.ToLower(text)); err != nil || id != snowfence.ID(i) {
			t.Errorf("%q in lower case is read as %v, %v", text, id, err)
		}
	}
}

func TestCheckedTextIsReadInCrockfordsSpellings(t *testing.T) {
	for text, want := range map[string]snowfence.ID{
		"1asd13xh1f800b":       1541815603606036480,
		"IASDL3XHLF8OOB":       1541815603606036480,
		"1ASD-13XH-1F80-0B":    1541815603606036480,
		"-1-ASD13XH1F800--B--": 1541815603606036480,
		"00000000000161":       38,
		"OOOOOOOOOOOL6I":       38,
	} {
		if got, err := (opaque.Checked{}).Decode(text); err != nil || got != want {
			t.Errorf("%q is read as %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "1ASD13XH1F800", "1ASD13XH1F800B0", "U0000000000000", "0000000000000\u0131", "000000000000\u0131", strings.Repeat("0", 1000)} {
		mustRefuse(t, opaque.Checked{}, text, "")
	}
}
