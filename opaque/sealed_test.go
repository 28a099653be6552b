package opaque_test

import (
	"testing"

	"snowfence.example/snowfence"
)

func TestSealedTextWithOneOtherCharacterIsRefused(t *testing.T) {
	sealed := newSealed(t, "orders", newKey, oldKey) // with the other key at hand too
	for _, id := range sampleIDs(200) {
		text := encode(t, sealed, id)
		for i := range text {
			for _, c := range base62 + "_-+/. \x00é" {
				if changed := text[:i] + string(c) + text[i+1:]; changed != text {
					mustRefuse(t, sealed, changed, "")
				}
			}
			mustRefuse(t, sealed, text[:i]+text[i+1:], "has 22 bytes, not 23")
			mustRefuse(t, sealed, text[:i]+"0"+text[i:], "has 24 bytes, not 23")
		}
	}
}

func TestSealedTextWithOneOtherBitIsRefused(t *testing.T) {
	sealed := newSealed(t, "orders", newKey, oldKey)
	for _, id := range sampleIDs(500) {
		text := encode(t, sealed, id)
		high, low := blockOf(t, text)
		if withBlock(text, high, low) != text {
			t.Fatalf("%q is not made of its block", text)
		}
		for bit := range 64 {
			mustRefuse(t, sealed, withBlock(text, high^1<<bit, low), "was not sealed")
			mustRefuse(t, sealed, withBlock(text, high, low^1<<bit), "was not sealed")
		}
	}
}

func TestSealedTextHasOneSpelling(t *testing.T) {
	sealed := newSealed(t, "orders", newKey)
	text := encode(t, sealed, 1)
	const tooGreat = "LygHa16AHYG" // 2^64
	mustRefuse(t, sealed, text[:1]+tooGreat+text[12:], "above 18446744073709551615")
	mustRefuse(t, sealed, text[:12]+tooGreat, "above 18446744073709551615")
	mustRefuse(t, sealed, "", "has 0 bytes")
}

func TestSealedTextIsForOnePurposeAndOneKey(t *testing.T) {
	orders := newSealed(t, "orders", newKey)
	sameID := newSealed(t, "orders", "b fffffffffffffffffffffffffffffffe")
	for _, purpose := range []string{"users", "order", "orders ", "Orders"} {
		other := newSealed(t, purpose, newKey)
		for _, id := range sampleIDs(1000) {
			mustRefuse(t, other, encode(t, orders, id), "was not sealed with this key for this purpose")
		}
	}
	for _, id := range sampleIDs(1000) {
		mustRefuse(t, sameID, encode(t, orders, id), "was not sealed with this key for this purpose")
	}
}

func TestKeysAreChangedWithoutLosingAText(t *testing.T) {
	const id = snowfence.ID(1541815603606036480)
	before := newSealed(t, "orders", oldKey)
	added := newSealed(t, "orders", oldKey, newKey)
	first := newSealed(t, "orders", newKey, oldKey)
	after := newSealed(t, "orders", newKey)

	old, young := encode(t, before, id), encode(t, first, id)
	if old[0] != 'a' || young[0] != 'b' || encode(t, added, id) != old || encode(t, after, id) != young {
		t.Errorf("texts of the old and the new key are %q and %q", old, young)
	}
	// In each step programs run that are a step behind or ahead.
	for name, step := range map[string]struct {
		reads []string
		by    func(string) (snowfence.ID, error)
	}{
		"before": {[]string{old}, before.Decode},
		"added":  {[]string{old, young}, added.Decode},
		"first":  {[]string{old, young}, first.Decode},
		"after":  {[]string{young}, after.Decode},
	} {
		for _, text := range step.reads {
			if got, err := step.by(text); err != nil || got != id {
				t.Errorf("%s: %q is read as %v, %v", name, text, got, err)
			}
		}
	}
	mustRefuse(t, after, old, "there is no key 'a'")
	mustRefuse(t, before, young, "there is no key 'b'")
}
