package opaque_test

import (
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
