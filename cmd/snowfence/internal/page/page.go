// Package page lays out answers for people: lines, tables and wrapped text for
// a terminal of 80 columns. Texts of others can't begin a line or steer the
// terminal: see [Visible].
package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Page is a text for people, which grows by lines. The zero value is empty.
type Page struct{ strings.Builder }

// Width is how many columns a text has.
const Width = 80

// Line adds a line. The texts in it are made visible, so each stays on its line.
func (p *Page) Line(format string, args ...any) {
	args = slices.Clone(args)
	for i, arg := range args {
		switch text := arg.(type) {
		case string:
			args[i] = Visible(text, "")
		case error:
			args[i] = Visible(text.Error(), "")
		}
	}
	fmt.Fprintf(&p.Builder, format+"\n", args...)
}

// Table adds a table that is set in.
func (p *Page) Table(indent, columns string, rows [][]string) {
	for line := range strings.Lines(Table(columns, rows)) {
		p.WriteString(indent + line)
	}
}

// Wrapped adds a text that is broken between words. The lines after the first are set
// in as far as the first one's beginning is long.
func (p *Page) Wrapped(beginning, text string) {
	line, blank := beginning, ""
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(blank)+len(word) > Width && blank != "" {
			p.Line("%s", line)
			line, blank = strings.Repeat(" ", len(beginning)), ""
		}
		line, blank = line+blank+word, " "
	}
	p.Line("%s", line)
}

// Table lays out rows under a header: the names of the columns, with commas between
// them, and > before a column that is aligned at its right. Without rows the text is empty.
func Table(columns string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	header := strings.Split(strings.ToUpper(columns), ",")
	right, widths := make([]bool, len(header)), make([]int, len(header))
	for i, name := range header {
		header[i], right[i] = strings.CutPrefix(strings.TrimSpace(name), ">")
	}
	shown := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		row = slices.Clone(row)
		for i, cell := range row {
			row[i] = Visible(cell, "")
		}
		shown = append(shown, row)
	}
	for _, row := range shown {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range shown {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell, padding = padding, cell
			}
			line.WriteString(cell + padding + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// Object is a JSON object: names and values in turn, which keep their order. A name that ends in a question
// mark is left out where its value is zero.
type Object []any

// fields returns the names and the values. It skips a zero value whose name ends in a question mark.
func (o Object) fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := 0; i+1 < len(o); i += 2 {
			name, optional := strings.CutSuffix(o[i].(string), "?")
			if value := reflect.ValueOf(o[i+1]); optional && (!value.IsValid() || value.IsZero()) {
				continue
			}
			if !yield(name, o[i+1]) {
				return
			}
		}
	}
}

// Text returns a line for each value, as JSON has it. The names of an object within have a dot.
func (o Object) Text() string {
	var p Page
	p.object("", o)
	return p.String()
}

func (p *Page) object(within string, o Object) {
	for name, value := range o.fields() {
		objects, several := value.([]Object)
		if one, ok := value.(Object); ok {
			objects, several = []Object{one}, true
		}
		for _, x := range objects {
			p.object(within+name+".", x)
		}
		if !several {
			var b bytes.Buffer
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				b.WriteString(err.Error())
			}
			p.Line("%-*s  %s", labels, within+name, strings.Trim(b.String(), "\"\n"))
		}
	}
}

// labels is how many columns the names of an [Object] have in its text.
const labels = 26

// MarshalJSON implements [json.Marshaler].
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	separator := byte('{')
	for name, value := range o.fields() {
		b.WriteByte(separator)
		separator = ','
		if err := encoder.Encode(name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(value); err != nil {
			return nil, err
		}
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
