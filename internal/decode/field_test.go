package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// drawn writes fields as name:shift+bits=value.
func drawn(fields []Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%s:%d+%d=%v", f.Name, f.Shift, f.Bits, f.Value))
	}
	return strings.Join(all, " ")
}

func TestFieldsAreTheBitsOfTheSpecification(t *testing.T) {
	for id, want := range map[string]string{
		"507f1f77bcf86cd799439011":             "time:64+32=1350508407 process:24+40=bcf86cd799 counter:0+24=4427793",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV":           "time:80+48=1469922850259 random:0+80=d6764c61efb99302bd5b",
		"C232AB00-9414-11EC-B3C8-9F6BDECED846": "time_low:96+32=3258100480 time_mid:80+16=37908 version:76+4=1 time_high:64+12=492 variant:62+2=2 clock_seq:48+14=13256 node:0+48=9f6bdeced846",
		"1EC9414C-232A-6B00-B3C8-9F6BDECED846": "time_high:96+32=516505932 time_mid:80+16=9002 version:76+4=6 time_low:64+12=2816 variant:62+2=2 clock_seq:48+14=13256 node:0+48=9f6bdeced846",
		"017F22E2-79B0-7CC3-98C4-DC0C0C07398F": "time:80+48=1645557742000 version:76+4=7 random:64+12=cc3 variant:62+2=2 random:0+62=18c4dc0c0c07398f",
		"919108f7-52d1-4320-9bac-f847db4148a8": "random:80+48=919108f752d1 version:76+4=4 random:64+12=320 variant:62+2=2 random:0+62=1bacf847db4148a8",
		"5df41881-3aed-3515-88a7-2f4a814cf09e": "hash:80+48=5df418813aed version:76+4=3 hash:64+12=515 variant:62+2=2 hash:0+62=08a72f4a814cf09e",
		"2489E9AD-2EE2-8E00-8EC9-32D5F69181C0": "data:80+48=2489e9ad2ee2 version:76+4=8 data:64+12=e00 variant:62+2=2 data:0+62=0ec932d5f69181c0",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "data:0+128=ffffffffffffffffffffffffffffffff",
	} {
		f, err := ReadForeign(id)
		if err != nil || f == nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := drawn(f.Fields); got != want || !f.By.IsZero() {
			t.Errorf("%s:\n%s, want\n%s", id, got, want)
		}
	}
}

func TestFieldsFillTheIDWithoutAGap(t *testing.T) {
	for _, p := range append(snowfence.Presets(), snowfence.WidePresets()...) {
		next := 0
		for _, f := range slices.Backward(FieldsOf(p.Layout)) {
			if f.Shift != next || f.Bits <= 0 {
				t.Errorf("%s: %s begins at bit %d with %d bits, want bit %d", p.Name, f.Name, f.Shift, f.Bits, next)
			}
			next = f.Shift + f.Bits
		}
		if !p.Layout.Wide && next != 64 {
			t.Errorf("%s: the fields have %d bits, want 64", p.Name, next)
		}
	}
}

func TestFieldsOfATextHaveNoBits(t *testing.T) {
	for text, x := range map[string]struct {
		format Format
		want   string
	}{
		"R20260131000007": {Dated, "date:0+0=2026-01-31 number:0+0=000007"},
		"R7":              {Counted, "number:0+0=7"},
		"42":              {Number, "unused:63+1=0 number:0+63=42"},
	} {
		s := Source{Kind: "x", Format: x.format, Settings: map[string]string{"prefix": "R"}}
		if x.format == Number {
			s.Settings = nil
		}
		f, err := Of(text, "", s)
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn(f.Fields); got != x.want {
			t.Errorf("%s: %s, want %s", text, got, x.want)
		}
	}
}
