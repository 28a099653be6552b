package stored

import "testing"

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
