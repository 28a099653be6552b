package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// TestQuoteLosesNoLine has files in which a quote could hide the lines up to the next quote,
// and the duplicates in them.
func TestQuoteLosesNoLine(t *testing.T) {
	for _, x := range []struct {
		content, place string
	}{
		{"id,x\n1,\"a\\\"b\"\n2,\n", "line 2"},
		{"id,x\n1,\"a\" \"b\"\n2,\n2,\"c\"d\n", "line 2"},
		{"id,x\n1,5\" pipe\n2,a\n2,7\" pipe\n", "line 2"},
		{"id,x\n\"1\"0,a\n2,\n", "line 2"},
		{"\"id\"s,x\n1,2\n", "line 1"},
		{"id,x\n1,\"\n2,\n3,\n", "line 2"},
		{"id\tname\n1\t\"a\n1\tb\"\n2\tc\n", "line 2"}, // a record of TSV is one line
		{"id\t\"name\n\"1\ta\n", "line 1"},
		{"id,x\n1,\"" + strings.Repeat("7,a\n", maxLine/2), "line 2"},
	} {
		items, err := readAll(t, strings.NewReader(x.content), Options{Column: "id"}, 10)
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || !errors.Is(err, snowfence.ErrInvalidID) || invalid.Place != x.place || len(items) > 0 {
			t.Errorf("%.40q: %s, %v", x.content, shown(items), err)
		}
	}
}

// FuzzEveryLineIsAnIDOrRefused counts the ids that were read against the lines, up to the first that is refused.
func FuzzEveryLineIsAnIDOrRefused(f *testing.F) {
	for _, s := range []string{"1\n2\n", "# x\r1\r\n7\n\n", "a\n1e17\n'7\nface\n", "1,2\n3\n\"4\n\",5\n6,\r7\n,\n", "\x1f\x8b\x08", "1\u2028\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, o := range []Options{{Encoding: "decimal"}, {Encoding: "decimal", Column: "1"}} {
			items, err := readAll(t, strings.NewReader(content), o, 7)
			var refused *InvalidError
			if err != nil && !errors.As(err, &refused) || o.Column != "" && strings.Contains(content, `"`) {
				continue // it is packed, or its records have several lines
			}
			lines, at := 0, 0
			for line := range strings.Lines(strings.TrimPrefix(content, mark)) {
				if at++; refused != nil && refused.Place == fmt.Sprint("line ", at) {
					break
				}
				line = strings.TrimSpace(strings.TrimSuffix(line, "\n"))
				if line != "" && (o.Column != "" || line[0] != '#' || strings.ContainsFunc(line, endsLine)) {
					lines++
				}
			}
			if len(items) != lines {
				t.Errorf("%q, %+v: %d ids of %d lines, %v", content, o, len(items), lines, err)
			}
		}
		_, _ = readAll(t, strings.NewReader(content), Options{}, 7)
	})
}
