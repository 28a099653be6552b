package stored

import (
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

func TestValueOfASettingIsQuotedOnceUnlessItIsNumbers(t *testing.T) {
	for value, want := range map[string]string{
		"5": "5", "-1s": "-1s", "1h0m0.5s": "1h0m0.5s", "[1 2]": "[1 2]", "nil": "nil", "none": "none",
		"": `""`, " ": `" "`, "a b": `"a b"`, "Orders": `"Orders"`, "1\n2": `"1\n2"`, `"x"`: `"\"x\""`, "1 of them": `"1 of them"`,
	} {
		err := &ConfigError{Field: "name", Value: value, Limit: "must be another"}
		if got := err.Error(); got != "snowfence: name is "+want+": must be another" {
			t.Errorf("%q: %s", value, got)
		}
	}
}

// TestAnotherLayoutsErrorNamesTheOneToConfigure is about a way out that is none: of two layouts that cut the bits
// alike, such as Leaf's and Twitter's, another namespace's ids repeat those of this one.
func TestAnotherLayoutsErrorNamesTheOneToConfigure(t *testing.T) {
	preset := func(name string) string {
		p, err := snowfence.PresetByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return p.Layout.String()
	}
	for layout, name := range map[string]string{
		preset("twitter"): `"twitter"`, preset("bwmarrin"): `"leaf" or "bwmarrin"`, "ms41-worker9-seq13@2026-01-01T00:00:00Z": "ms41-worker9-seq13@2026-01-01T00:00:00Z",
	} {
		text := (&LayoutMismatchError{"orders", layout, preset("default")}).Error()
		if !strings.Contains(text, "so configure the layout "+name+"; the ids of another namespace can equal") {
			t.Error(text)
		}
	}
}
