package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func TestIDOfAKindIsWhatTheKindWritesAndNothingElse(t *testing.T) {
	four := map[string]string{"prefix": "INV", "digits": "4"}
	invoices, receipts := map[string]string{"prefix": "INV"}, map[string]string{"prefix": "R-"}
	for _, x := range []struct {
		reads                Format
		settings             map[string]string
		text, format, fields string
	}{
		{Number, nil, "9223372036854775807", "number", "unused=0 number=9223372036854775807"},
		{Number, nil, "9223372036854775808", "", ""},
		{Number, nil, "0000000000000001000", "", ""},
		{Number, nil, "0x10", "", ""},
		{Number, nil, "", "", ""},
		{Dated, invoices, "INV20261122000017", "text", "date=2026-11-22 number=000017"},
		{Dated, nil, "20261122000000", "text", "date=2026-11-22 number=000000"},
		{Dated, four, "INV20261122000017", "", ""},
		{Dated, invoices, "INV202611220017", "", ""},
		{Dated, nil, "INV20261122000017", "", ""},
		{Dated, invoices, "20261122000017", "", ""},
		{Dated, invoices, "INV20261322000017", "", ""},
		{Dated, invoices, "INV20261122", "", ""},
		{Dated, invoices, "INV2026", "", ""},
		{Dated, invoices, "INV2026112200+017", "", ""},
		{Counted, receipts, "R-17", "text", "number=17"},
		{Counted, receipts, "R-", "", ""},
		{Counted, receipts, "R-017", "", ""},
		{Counted, receipts, "R-9223372036854775808", "", ""},
		{UUID, nil, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "uuid", "time=1645557742000 version=7 random=cc3 variant=2 random=18c4dc0c0c07398f"},
		{UUID, nil, "507f1f77bcf86cd799439011", "", ""},
		{ULID, nil, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid", "time=1469922850259 random=d6764c61efb99302bd5b"},
		{"", four, "EU-00004711-8", "text", ""}, // of a program's own kind, whose settings mean what it likes
	} {
		f, err := Of(x.text, "", Source{Generator: "g", Kind: "k", Format: x.reads, Settings: x.settings})
		if x.format == "" {
			if f != nil || !errors.Is(err, snowfence.ErrInvalidID) {
				t.Errorf("%q as %s: %+v, %v", x.text, x.reads, f, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q as %s: %v", x.text, x.reads, err)
			continue
		}
		var fields []string
		for _, field := range f.Fields {
			fields = append(fields, fmt.Sprintf("%s=%v", field.Name, field.Value))
		}
		if f.ID != x.text || f.Format != x.format || f.Generator != "g" || strings.Join(fields, " ") != x.fields {
			t.Errorf("%q as %s: %+v", x.text, x.reads, f)
		}
	}
}

func TestLayoutHasPlaceForTheFirstReadingOrForNone(t *testing.T) {
	for _, text := range []string{"1541815603606036", "1541815603606", "15418156036"} {
		likeliest, as, err := Read(text, "")
		if err != nil || as != Decimal {
			t.Fatalf("%s is read as %s, %v", text, as, err)
		}
		for bits := 10; bits <= 63; bits++ {
			l := snowfence.Layout{Unit: time.Millisecond, Fields: []snowfence.Field{{Kind: snowfence.Time, Bits: bits - 2}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 1}}}
			_, first := Decode(likeliest, l)
			for _, other := range []Encoding{Hex, Base32, Base62} {
				if id, err := ReadAs(text, other); err == nil && len(text) == len(other.Text(0)) {
					if _, err := Decode(id, l); first != nil && err == nil {
						t.Errorf("%d bits have place for %s as %s alone", bits, text, other)
					}
				}
			}
			r, err := Of(text, "", Source{Generator: "g", Layout: l})
			if (err == nil) != (first == nil) || err == nil && (r.ID != likeliest.String() || r.Generator != "g" || r.ReadAs != as) {
				t.Errorf("%d bits: %+v, %v", bits, r, err)
			}
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"INV20261122000017", "R-17", "9223372036854775808", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"} {
		f.Add(s, "INV", "6")
	}
	f.Fuzz(func(t *testing.T, text, prefix, digits string) {
		for _, format := range []Format{Number, Counted, Dated, UUID, ULID, ObjectID, ""} {
			got, err := Of(text, "", Source{Format: format, Settings: map[string]string{"prefix": prefix, "digits": digits}})
			if (got == nil) != errors.Is(err, snowfence.ErrInvalidID) {
				t.Fatalf("%q as %q: %+v, %v", text, format, got, err)
			}
		}
	})
}
