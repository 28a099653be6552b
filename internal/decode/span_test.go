package decode

import (
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// drawn writes spans as name:first+bits=value, with the meanings.
func drawn(spans []Span) string {
	var all []string
	for _, s := range spans {
		text := fmt.Sprintf("%s:%d+%d=%s", s.Name, s.First, s.Bits, s.Value)
		if s.Meaning != "" {
			text += "(" + s.Meaning + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestSpansAreTheBitsOfTheSpecification(t *testing.T) {
	for id, want := range map[string]string{
		"507f1f77bcf86cd799439011":             "time:0+32=1350508407(2012-10-17T21:13:27Z) process:32+40=bcf86cd799 counter:72+24=4427793",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV":           "time:0+48=1469922850259(2016-07-30T23:54:10.259Z) random:48+80=d6764c61efb99302bd5b",
		"C232AB00-9414-11EC-B3C8-9F6BDECED846": "time_low:0+32=3258100480(2022-02-22T19:22:22.000000000Z) time_mid:32+16=37908 version:48+4=1 time_high:52+12=492 variant:64+2=2 clock_seq:66+14=13256 node:80+48=9f6bdeced846",
		"1EC9414C-232A-6B00-B3C8-9F6BDECED846": "time_high:0+32=516505932(2022-02-22T19:22:22.000000000Z) time_mid:32+16=9002 version:48+4=6 time_low:52+12=2816 variant:64+2=2 clock_seq:66+14=13256 node:80+48=9f6bdeced846",
		"017F22E2-79B0-7CC3-98C4-DC0C0C07398F": "time:0+48=1645557742000(2022-02-22T19:22:22.000Z) version:48+4=7 random:52+12=cc3 variant:64+2=2 random:66+62=18c4dc0c0c07398f",
		"919108f7-52d1-4320-9bac-f847db4148a8": "random:0+48=919108f752d1 version:48+4=4 random:52+12=320 variant:64+2=2 random:66+62=1bacf847db4148a8",
		"5df41881-3aed-3515-88a7-2f4a814cf09e": "hash:0+48=5df418813aed version:48+4=3 hash:52+12=515 variant:64+2=2 hash:66+62=08a72f4a814cf09e",
		"2489E9AD-2EE2-8E00-8EC9-32D5F69181C0": "data:0+48=2489e9ad2ee2 version:48+4=8 data:52+12=e00 variant:64+2=2 data:66+62=0ec932d5f69181c0",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "data:0+128=ffffffffffffffffffffffffffffffff",
	} {
		f, err := ReadForeign(id)
		if err != nil || f == nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := drawn(f.Strip().Fields); got != want {
			t.Errorf("%s:\n%s, want\n%s", id, got, want)
		}
		if !f.Strip().Stamp.Layout.IsZero() || f.Strip().Worker != nil {
			t.Errorf("%s: has no layout, and the stamp %+v", id, f.Strip().Stamp)
		}
	}
}

func TestSpansAndStampAreThoseOfTheLayout(t *testing.T) {
	for _, x := range []struct {
		layout, id, spans string
		worker            int64
	}{
		{"twitter", "1541815603606036480", "unused:0+1=0 time:1+41=367597485448(2022-06-28T16:07:40.105Z) datacenter:42+5=11(of worker id 378) worker:47+5=26(of worker id 378) sequence:52+12=0", 378},
		{"uuid8", "01890A5D-AC96-874B-8000-0C0000000001", "", 3},
		{"objectid", "507f1f77bcf86cd799439011", "time:0+32=1350508407(2012-10-17T21:13:27Z) worker:32+40=811621734297(of worker id 811621734297) sequence:72+24=4427793", 811621734297},
	} {
		l, err := snowfence.ParseLayout(x.layout)
		if err != nil {
			t.Fatal(err)
		}
		r, f, err := Of(x.id, "", Source{Layout: l})
		if err != nil {
			t.Fatal(err)
		}
		strip := r.Document().Strip()
		if f != nil {
			strip = f.Strip()
		}
		if got := drawn(strip.Fields); x.spans != "" && got != x.spans {
			t.Errorf("%s of %s:\n%s, want\n%s", x.id, x.layout, got, x.spans)
		}
		if stamp := strip.Stamp; *strip.Worker != x.worker || stamp.Worker != x.worker || !stamp.Layout.Equal(l) || !strip.At.Equal(l.TimeOf(stamp.Tick)) {
			t.Errorf("%s of %s: the stamp is %+v", x.id, x.layout, stamp)
		}
	}
}

func TestSpansFillTheIDWithoutAGap(t *testing.T) {
	for _, p := range append(snowfence.Presets(), snowfence.WidePresets()...) {
		next := 0
		for _, s := range SpansOf(p.Layout) {
			if s.First != next || s.Bits <= 0 {
				t.Errorf("%s: %s begins at bit %d with %d bits, want bit %d", p.Name, s.Name, s.First, s.Bits, next)
			}
			next = s.First + s.Bits
		}
		if !p.Layout.Wide && next != 64 {
			t.Errorf("%s: the fields have %d bits, want 64", p.Name, next)
		}
	}
}

func TestSpansOfATextHaveNoBits(t *testing.T) {
	for text, x := range map[string]struct {
		format Format
		want   string
	}{
		"R20260131000007": {Dated, "date:0+0=2026-01-31 number:0+0=000007"},
		"R7":              {Counted, "number:0+0=7"},
		"42":              {Number, "unused:0+1=0 number:1+63=42"},
	} {
		s := Source{Kind: "x", Format: x.format, Settings: map[string]string{"prefix": "R"}}
		if x.format == Number {
			s.Settings = nil
		}
		_, f, err := Of(text, "", s)
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn(f.Strip().Fields); got != x.want {
			t.Errorf("%s: %s, want %s", text, got, x.want)
		}
	}
}
