package source

import (
	"errors"
	"testing"
)

func TestColumnOrStatementStandsBehindTheHash(t *testing.T) {
	for text, want := range map[string]Place{
		"ids.csv#order id":           {"ids.csv", "order id"},
		"a#column=1#2":               {"a#column=1", "2"},
		"folder#1/ids.csv#2":         {"folder#1/ids.csv", "2"},
		"folder#1/ids.csv":           {"folder#1/ids.csv", ""},
		"./ids#orders#":              {"./ids#orders", ""},
		"-":                          {"-", ""},
		"postgres://u:p@host/db":     {"postgres://u:p@host/db", ""},
		"postgres://u:p#q=r@host/db": {"postgres://u:p#q=r@host/db", ""},
		"mysql://h/db?x=1#select a, b=c from t#1": {"mysql://h/db?x=1", "select a, b=c from t#1"},
		"mysql://u:p#q@h/db#SELECT\n1 #with x":    {"mysql://u:p#q@h/db", "SELECT\n1 #with x"},
	} {
		if p, err := ParsePlace(text); err != nil || p != want {
			t.Errorf("%q: %+v, %v; want %+v", text, p, err, want)
		}
	}
	for _, text := range []string{"", "#", "#id"} {
		if _, err := ParsePlace(text); !errors.As(err, new(UsageError)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNamesAreShownWithoutWhatATerminalObeys(t *testing.T) {
	for name, want := range map[string]string{
		"ids.csv":                  "ids.csv",
		"Bestände 2026.csv":        "Bestände 2026.csv",
		`a"b\c`:                    `a"b\c`,
		"\x1b]0;gone\a.csv":        `"\x1b]0;gone\a.csv"`,
		"a\nb":                     `"a\nb"`,
		"a\xffb":                   `"a\xffb"`,
		"a\u202eb":                 `"a\u202eb"`,
		"postgres://u:p@h/d":       "postgres://u:xxxxx@h/d",
		"mysql://u:p@h/d\x1b[2J":   `"mysql://u:xxxxx@h/d\x1b[2J"`,
		"redis://u\x9b:p@h/d":      `"redis://u\x9b:xxxxx@h/d"`,
		"standard input (\u3000a)": "standard input (\u3000a)",
	} {
		if got := Shown(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
