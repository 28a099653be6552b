package source

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence/internal/text"
)

// table finds the ids in a column of CSV.
type table struct {
	*input
	csv    *csv.Reader
	given  int64  // bytes that the parser was given
	column string // its name, until the header is read
	index  int    // its number from 0
	begun  bool
	first  uint64 // the line of the first record
	fields int    // how many that has, as all must
}

// maxColumns is the greatest number of a column.
const maxColumns = 1 << 20

// newTable reads CSV.
func newTable(in *input, o Options) (*table, error) {
	t := &table{input: in}
	switch n, err := strconv.Atoi(o.Column); {
	case err != nil:
		t.column = o.Column
	case n < 1 || n > maxColumns:
		return nil, wrong("column", "is %s: numbers of columns are from 1 to %d", o.Column, maxColumns)
	default:
		t.index = n - 1
	}
	in.Reader = bufio.NewReaderSize(bounded{t, in.in}, buffer) // the parser takes it as its own buffer
	t.csv = csv.NewReader(in.Reader)
	t.csv.FieldsPerRecord, t.csv.ReuseRecord = -1, true
	return t, nil
}

// Close gives the parser's buffer back, too.
func (t *table) Close() error {
	t.csv = nil
	return t.input.Close()
}

// bounded ends a record that is too long, such as a record with an open quote.
type bounded struct {
	*table
	in io.Reader
}

// errLong is returned for a record that is too long.
var errLong = errors.New("record is too long")

func (b bounded) Read(p []byte) (int, error) {
	if b.csv.InputOffset()+maxLine+buffer < b.given {
		return 0, errLong
	}
	n, err := b.in.Read(p)
	b.given += int64(n)
	return n, err
}

func (t *table) next(r *reader) (Item, error) {
	if !t.begun {
		t.begun = true
		if head, _ := t.Peek(len(mark)); bytes.Equal(head, []byte(mark)) {
			_, _ = t.Discard(len(mark)) // it is buffered
		}
		head, _ := t.Peek(buffer)
		t.csv.Comma = separator(head)
	}
	record, err := t.record(r)
	if err == nil && t.column != "" {
		if err = t.header(r, record); err == nil {
			record, err = t.record(r)
		}
	}
	if err != nil {
		if t.column != "" && errors.Is(err, io.EOF) {
			err = wrong("column", "%s: is empty and has no column %q", r.name, t.column)
		}
		return Item{}, err
	}
	return r.read([]byte(strings.TrimSpace(record[t.index])), t.at)
}

// separator finds the separator of the first record, which is a comma, or else a semicolon or tab.
func separator(head []byte) rune {
	found, quoted := ',', false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			return ','
		case c == '\n':
			return found
		case found == ',' && (c == ';' || c == '\t'):
			found = rune(c)
		}
	}
	return found
}

// record takes the next record that is not blank, and refuses one that can't be read whole.
func (t *table) record(r *reader) ([]string, error) {
	for {
		record, err := t.csv.Read()
		if err != nil {
			return nil, t.broken(r, err)
		}
		line, _ := t.csv.FieldPos(0)
		t.at = uint64(line)
		if len(record) == 1 && record[0] != "" && strings.TrimSpace(record[0]) == "" {
			continue
		}
		if t.fields == 0 {
			t.first, t.fields = t.at, len(record)
		}
		within := func(has func(rune) bool) bool {
			return slices.ContainsFunc(record, func(field string) bool { return strings.ContainsFunc(field, has) })
		}
		refuse := func(reason string, args ...any) error {
			return r.refuse(t.at, fault("CSV", strings.Join(record, string(t.csv.Comma)), reason, args...), "")
		}
		switch {
		case t.csv.Comma == '\t' && within(func(r rune) bool { return r == '\n' }):
			// Few programs that write TSV quote: the lines up to the next quote would be lost.
			return nil, refuse("has a quote that is not closed in its line: export CSV, or leave out the quote")
		case within(endsLine):
			return nil, refuse("has a line end within that is neither LF nor CR LF")
		case len(record) != t.fields:
			return nil, refuse("has %s, and line %d has %d: a field with the separator in it must be within quotes",
				text.Count(len(record), "field"), t.first, t.fields)
		case t.column == "" && len(record) <= t.index:
			return nil, refuse("has no column %d, only %d", t.index+1, len(record))
		}
		return record, nil
	}
}

// broken returns the error for bytes that can't be read as a record.
func (t *table) broken(r *reader, err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, errLong):
		return tooLong(r, t.at+1)
	case !ok:
		return err
	}
	reason := "has a quote that is never closed, or text behind one: a quote within quotes must be doubled"
	if errors.Is(err, csv.ErrBareQuote) {
		reason = "has a quote within a field: the field must be within quotes, and the quote doubled"
	}
	return r.refuse(uint64(parse.StartLine), fault("CSV", "", "%s", reason), "")
}

// header finds the column by its name.
func (t *table) header(r *reader, record []string) error {
	var names []string
	for _, name := range record {
		names = append(names, strings.TrimSpace(name))
	}
	t.index = slices.Index(names, t.column)
	if t.index < 0 {
		return wrong("column", "%s: has no column %q; line %d has %s", r.name, t.column, t.at, printable(clip(strings.Join(names, ", "))))
	}
	if slices.Contains(names[t.index+1:], t.column) {
		return wrong("column", "%s: has two columns %q", r.name, t.column)
	}
	t.column = ""
	return nil
}
