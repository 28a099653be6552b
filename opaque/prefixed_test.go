package opaque_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/opaque"
)

func TestPrefixIsReadAsItIsWritten(t *testing.T) {
	order := newPrefixed(t, "order", opaque.Checked{})
	const text = "1ASD13XH1F800B"
	if got, err := order.Decode("order_" + text); err != nil || got != 1541815603606036480 {
		t.Errorf("read as %v, %v", got, err)
	}
	for _, wrong := range []string{
		text, "_" + text, "order" + text, "order__" + text, "Order_" + text, "user_" + text, "order_item_" + text,
		" order_" + text, "order_", "order", "_", "", "order_order_" + text,
	} {
		mustRefuse(t, order, wrong, "")
	}
	bare := newPrefixed(t, "", opaque.Checked{})
	mustRefuse(t, bare, "_"+text, `the part up to the last underscore is not ""`)
	mustRefuse(t, bare, "order_"+text, `the part up to the last underscore is not ""`)
}

// underscored is a form whose texts have underscores.
type underscored struct{ opaque.Checked }

func (underscored) Encode(snowfence.ID) (string, error) { return "item_1", nil }

// later is a form whose texts have underscores, but for that of id 0.
type later struct{ opaque.Checked }

func (later) Encode(id snowfence.ID) (string, error) {
	return strings.Repeat("item_", int(id)) + "1", nil
}

func TestTextWithAnUnderscoreCanNotBePrefixed(t *testing.T) {
	for name, inner := range map[string]opaque.Codec{
		"underscored": underscored{},
		"prefixed":    newPrefixed(t, "item", opaque.Checked{}),
	} {
		p, err := opaque.NewPrefixed("order", inner)
		if p != nil || snowfence.ClassOf(err) != snowfence.ClassUsage || !strings.Contains(err.Error(), "position 4: has an underscore") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	text, err := newPrefixed(t, "order", later{}).Encode(1)
	if text != "" || !errors.Is(err, snowfence.ErrInvalidID) || !strings.Contains(err.Error(), "position 4: has an underscore") {
		t.Errorf("written as %q, %v", text, err)
	}
}

func TestPrefixesAreThoseOfTheTypeIDSpecification(t *testing.T) {
	for _, prefix := range []string{"", "a", "order", "pre_fix", "a__b", strings.Repeat("a", 63)} {
		if _, err := opaque.NewPrefixed(prefix, opaque.Checked{}); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	for _, prefix := range []string{"_", "_a", "a_", "A", "a1", "a-b", "a.b", "é", " a", "a\n", strings.Repeat("a", 64)} {
		if _, err := opaque.NewPrefixed(prefix, opaque.Checked{}); !errors.Is(err, opaque.ErrSetting) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestValidTypeIDsOfTheSpecificationAreWrittenAndRead(t *testing.T) {
	// https://github.com/jetify-com/typeid/blob/main/spec/valid.yml, version 0.3.0
	for _, test := range []struct{ text, prefix, uuid string }{
		{"00000000000000000000000000", "", "00000000-0000-0000-0000-000000000000"},
		{"00000000000000000000000001", "", "00000000-0000-0000-0000-000000000001"},
		{"0000000000000000000000000a", "", "00000000-0000-0000-0000-00000000000a"},
		{"0000000000000000000000000g", "", "00000000-0000-0000-0000-000000000010"},
		{"00000000000000000000000010", "", "00000000-0000-0000-0000-000000000020"},
		{"7zzzzzzzzzzzzzzzzzzzzzzzzz", "", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		{"prefix_0123456789abcdefghjkmnpqrs", "prefix", "0110c853-1d09-52d8-d73e-1194e95b5f19"},
		{"prefix_01h455vb4pex5vsknk084sn02q", "prefix", "01890a5d-ac96-774b-bcce-b302099a8057"},
		{"pre_fix_00000000000000000000000000", "pre_fix", "00000000-0000-0000-0000-000000000000"},
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(test.uuid, "-", ""))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := opaque.FormatTypeID(test.prefix, [16]byte(data)); err != nil || text != test.text {
			t.Errorf("%q and %s are written as %q, %v, want %q", test.prefix, test.uuid, text, err, test.text)
		}
		if prefix, id, err := opaque.ParseTypeID(test.text); err != nil || prefix != test.prefix || id != [16]byte(data) {
			t.Errorf("%q is read as %q, %x, %v", test.text, prefix, id, err)
		}
	}
}

func TestInvalidTypeIDsOfTheSpecificationAreRefused(t *testing.T) {
	// https://github.com/jetify-com/typeid/blob/main/spec/invalid.yml, version 0.3.0
	for name, text := range map[string]string{
		"prefix-uppercase":           "PREFIX_00000000000000000000000000",
		"prefix-numeric":             "12345_00000000000000000000000000",
		"prefix-period":              "pre.fix_00000000000000000000000000",
		"prefix-non-ascii":           "préfix_00000000000000000000000000",
		"prefix-spaces":              "  prefix_00000000000000000000000000",
		"prefix-64-chars":            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl_00000000000000000000000000",
		"separator-empty-prefix":     "_00000000000000000000000000",
		"separator-empty":            "_",
		"suffix-short":               "prefix_1234567890123456789012345",
		"suffix-long":                "prefix_123456789012345678901234567",
		"suffix-spaces":              "prefix_1234567890123456789012345 ",
		"suffix-uppercase":           "prefix_0123456789ABCDEFGHJKMNPQRS",
		"suffix-hyphens":             "prefix_123456789-123456789-123456",
		"suffix-wrong-alphabet":      "prefix_ooooooiiiiiiuuuuuuulllllll",
		"suffix-ambiguous-crockford": "prefix_i23456789ol23456789oi23456",
		"suffix-hyphens-crockford":   "prefix_123456789-0123456789-0123456",
		"suffix-overflow":            "prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz",
		"prefix-underscore-start":    "_prefix_00000000000000000000000000",
		"prefix-underscore-end":      "prefix__00000000000000000000000000",
		"empty":                      "",
		"prefix-empty":               "prefix_",
		"suffix-newline":             "prefix_0000000000000000000000000\n",
	} {
		prefix, id, err := opaque.ParseTypeID(text)
		if prefix != "" || id != [16]byte{} || !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("%s: %q is read as %q, %x, %v", name, text, prefix, id, err)
		}
	}
}

func FuzzParseTypeID(f *testing.F) {
	f.Add("prefix_01h455vb4pex5vsknk084sn02q")
	f.Add("7zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Add("_")
	f.Fuzz(func(t *testing.T, text string) {
		prefix, id, err := opaque.ParseTypeID(text)
		if err != nil {
			if !errors.Is(err, snowfence.ErrInvalidID) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if written, err := opaque.FormatTypeID(prefix, id); err != nil || written != text {
			t.Errorf("%q is read as %q and %x, which are written as %q, %v", text, prefix, id, written, err)
		}
	})
}
