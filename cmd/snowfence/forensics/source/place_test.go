package source

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestOptionsStandBehindTheHash(t *testing.T) {
	for _, x := range []struct {
		text, name string
		given      map[string]string
	}{
		{"postgres://u:p@host/db#table=players,column=id", "postgres://u:p@host/db", map[string]string{"table": "players", "column": "id"}},
		{"postgres://u:p@host/db", "postgres://u:p@host/db", nil},
		{"mysql://h/db?x=1#query=select a, b=c from t#1", "mysql://h/db?x=1", map[string]string{"query": "select a, b=c from t#1"}},
		{"mysql://h/db#query=select 1 #table=x", "mysql://h/db", map[string]string{"query": "select 1 #table=x"}},
		{"folder#1/ids.csv#column=2", "folder#1/ids.csv", map[string]string{"column": "2"}},
		{"ids#orders", "ids#orders", nil}, // a file of that name
		{"ids#colum=1", "ids#colum=1", nil},
		{"#", "#", nil},
		{"a#column=1#encoding=hex", "a#column=1", map[string]string{"encoding": "hex"}},
		{"-", "-", nil},
		{"-#encoding=hex", "-", map[string]string{"encoding": "hex"}},
		{"ids.csv#separator=;,column=id", "ids.csv", map[string]string{"separator": ";", "column": "id"}},
		{"ids.csv#separator=#,column=a=b", "ids.csv", map[string]string{"separator": "#", "column": "a=b"}},
	} {
		p, err := ParsePlace(x.text)
		if err != nil || p.Name != x.name || !maps.Equal(p.Given, x.given) {
			t.Errorf("%q: %+v, %v; want %q, %v", x.text, p, err, x.name, x.given)
		}
	}
}

func TestPlaceThatCannotBeReadSaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      `source: is empty: must be a file, - for standard input`,
		"#column=1":                             `source: has no place before the #`,
		"y#column=1,colour=re":                  `y: option "colour": must be KEY=VALUE, with a key of column, encoding, query, separator, table`,
		"y#column=1,":                           "",
		"y#column=1,,":                          `y: option ",": must be KEY=VALUE`,
		"y#column=1,column=2":                   `y: option column "2": must be given once`,
		"y#column=":                             `y: option column: must be given once and not be empty`,
		"postgres://u:hush@h/d#table=t,colum=1": `postgres://u:xxxxx@h/d: option "colum": must be KEY=VALUE`,
		"a\x1b[2J#encoding=hex,x=y":             `"a\x1b[2J": option "x"`,
	} {
		_, err := ParsePlace(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (!errors.As(err, new(UsageError)) || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
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
