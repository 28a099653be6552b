package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTablesAlign(t *testing.T) {
	got := Table(">id, what, >n", [][]string{{"7", "µs", "1,000"}, {"1000", "milliseconds", "1"}})
	want := "  ID  WHAT              N\n   7  µs            1,000\n1000  milliseconds      1\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestOthersTextsAreVisible: a terminal would obey or hide parts of hosts, versions, reasons and names in a store, and an own
// line break would forge a line.
func TestOthersTextsAreVisible(t *testing.T) {
	const hostile = "a\x1b[2J\r\nINV-7\tconfirmed\u009b\u202eb\u2066\u2028\x7f\x9b\xff\u200bé"
	const shown = `a\x1b[2J\r\nINV-7\tconfirmed\u009b\u202eb\u2066\u2028\x7f\x9b\xff\u200bé`
	if got, want := Table("a, b", [][]string{{hostile, "c"}}), "A"+strings.Repeat(" ", utf8.RuneCountInString(shown)+1)+"B\n"+shown+"  c\n"; got != want {
		t.Errorf("a table is\n%q, want\n%q", got, want)
	}
	var p Page
	p.Line("%s: %v, %v", hostile, errors.New(hostile), 7)
	p.Table("  ", "a", [][]string{{hostile}})
	p.Wrapped("- ", hostile)
	if got, want := p.String(), shown+": "+shown+", 7\n  A\n  "+shown+"\n"; !strings.HasPrefix(got, want) || strings.ContainsFunc(got, unseen) {
		t.Errorf("a page is\n%q, want\n%q", got, want)
	}
}

// unseen reports whether a terminal obeys or hides a character, but for a line break.
func unseen(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }

func TestObjectsKeepTheirOrderAndLeaveOutWhatIsOptionalAndZero(t *testing.T) {
	none := (*int64)(nil)
	for _, x := range []struct {
		object Object
		want   string
	}{
		{nil, `{}`},
		{Object{"b", 1, "a", "<&>"}, `{"b":1,"a":"<&>"}`},
		{Object{"a?", "", "b?", none, "c?", nil, "d", none, "e?", Object(nil)}, `{"d":null}`},
		{Object{"a", Object{"b?", 2}, "c", []Object{}}, `{"a":{"b":2},"c":[]}`},
	} {
		var compact bytes.Buffer // without the line ends of encoders, as by the encoder around an object
		got, err := x.object.MarshalJSON()
		if err == nil {
			err = json.Compact(&compact, got)
		}
		if err != nil || compact.String() != x.want {
			t.Errorf("%v: %s, %v; want %s", x.object, got, err, x.want)
		}
	}
}
