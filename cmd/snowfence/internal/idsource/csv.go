package idsource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// records is a [Source]: a column of CSV. Package encoding/csv is not used: it refuses a quote
// within a field, or takes it for one that opens a field, and then loses the lines
// up to the next; and it keeps all of a field whose quote is never closed.
type records struct {
	*input
	*reading
	separator byte
	column    string // its name, until the header is read
	index     int    // its number from 0
	taken     uint64 // lines
	at        uint64 // the line at which the last record begins
	record    record
	first     uint64 // the line of the first record
	width     int    // how many fields that has, as all must
}

// maxColumns is the greatest number of a column.
const maxColumns = 1 << 20

// newRecords reads CSV.
func newRecords(in *input, o Options) (*records, error) {
	r := &records{input: in, reading: newReading(in.name, "line", o), separator: cmp.Or(o.Separator, ',')}
	switch n, err := strconv.Atoi(o.Column); {
	case o.Column == "":
		return nil, &OptionError{"column", "must say which column of the CSV has the ids"}
	case err != nil:
		r.column = o.Column
	case n < 1 || n > maxColumns:
		return nil, &OptionError{"column", fmt.Sprintf("is %s: numbers of columns are from 1 to %d", o.Column, maxColumns)}
	default:
		r.index = n - 1
	}
	return r, nil
}

func (r *records) Read(ctx context.Context, items []Item) (n int, err error) {
	defer r.until(ctx)()
	if r.column != "" {
		if err := r.header(); err != nil {
			return 0, err
		}
	}
	for n < len(items) && (n == 0 || r.Buffered() > 0) { // it waits only for the first
		if err := r.next(); err != nil {
			return n, err
		}
		if r.record.blank() {
			continue
		}
		id, hint, err := r.id()
		if err == nil {
			items[n] = Item{id, r.at}
			n++
		} else if err := r.refuse(&InvalidError{r.Name(), r.Place(r.at), r.record.shown(), err, hint}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// id reads the column of the record, and says what may help if it is no id.
func (r *records) id() (id snowfence.ID, hint string, err error) {
	switch {
	case r.record.stray:
		return 0, "", r.fault("has text behind a closing quote: within quotes a quote must be doubled")
	case r.record.torn:
		return 0, "", r.fault("has a line end within that is neither LF nor CR LF: such must be within quotes")
	case r.record.columns() != r.width:
		return 0, "", r.fault(fmt.Sprintf("has %s, and line %d has %d: a field with the separator in it must be within quotes",
			text.Count(r.record.columns(), "field"), r.first, r.width))
	case r.width <= r.index:
		return 0, "", r.fault(fmt.Sprintf("has no column %d, only %d", r.index+1, r.width))
	}
	field := r.record.field(r.index)
	switch {
	case r.at == 1 && bytes.ContainsFunc(field, letter):
		hint = "if it is a header, --column NAME reads the column under it"
	case ofSpreadsheet.Match(field):
		hint = hintOf(string(field), r.at)
	}
	id, err = r.read(field, r.at)
	return id, hint, err
}

// header finds the column by its name.
func (r *records) header() error {
	err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return &OptionError{"column", fmt.Sprintf("%s: is empty and has no column %q", r.Name(), r.column)}
	case err != nil:
		return err
	case r.record.stray || r.record.torn:
		_, _, err := r.id()
		return r.broken(err)
	}
	var names []string
	for i := range r.record.columns() {
		names = append(names, string(r.record.field(i)))
	}
	r.index = slices.Index(names, r.column)
	if r.index < 0 {
		return &OptionError{"column", fmt.Sprintf("%s: has no column %q; line %d has %s", r.Name(), r.column, r.at, printable(clip(strings.Join(names, ", "))))}
	}
	if slices.Contains(names[r.index+1:], r.column) {
		return &OptionError{"column", fmt.Sprintf("%s: has two columns %q; a number, --column %d, says which in a file without a header", r.Name(), r.column, r.index+1)}
	}
	r.column = ""
	return nil
}

// next takes the next record: a line, and those after it while a quote is open.
func (r *records) next() error {
	r.record.clear()
	r.at = r.taken + 1
	for {
		line, err := r.line()
		r.taken++
		switch {
		case errors.Is(err, io.EOF) && r.record.at == within:
			return r.broken(r.fault("has a quote that is never closed"))
		case errors.As(err, new(*lengthError)) || len(r.record.text)+len(line) > maxLine+1:
			r.record.text = append(r.record.text, line...)
			return r.broken(&lengthError{})
		case err != nil:
			return err
		case r.taken == 1:
			line = bytes.TrimPrefix(line, []byte(mark))
		}
		if r.record.add(line, r.separator); r.record.at != within {
			if r.width == 0 && !r.record.blank() {
				r.first, r.width = r.at, r.record.columns()
			}
			return nil
		}
		if r.separator == '\t' { // most programs that write TSV never quote: the lines up to the next quote would be lost
			return r.broken(r.fault("has a quote that is not closed in its line: in TSV a record is one line; export CSV, " +
				"or leave out the quote that begins the field"))
		}
	}
}

// fault is the reason why a record is refused.
func (r *records) fault(reason string) error {
	return &snowfence.IDError{Form: "CSV", Text: r.record.shown(), Position: -1, Reason: reason}
}

// broken is for a record that can't be skipped.
func (r *records) broken(reason error) error {
	return &InvalidError{r.Name(), r.Place(r.at), r.record.shown(), reason, ""}
}

// record is a record, and its fields without their quotes.
type record struct {
	text   []byte
	fields []byte
	ends   []int // of the fields, but for the last
	at     standing
	stray  bool // text stands behind a closing quote: nobody knows where that field ends
	torn   bool // a line end that is none here stands outside quotes
}

// standing is where in a field one stands.
type standing int

const (
	begins standing = iota // of a field
	inside                 // a field without quotes
	within                 // quotes
	behind                 // a closing quote, or the first of two
	closed                 // spaces behind a closing quote
)

func (r *record) clear() {
	*r = record{text: r.text[:0], fields: r.fields[:0], ends: r.ends[:0]}
}

// add adds a line. Only a quote at the beginning of a field opens one that may go on
// over lines: were any other taken for one, the lines up to the next would be lost.
func (r *record) add(line []byte, separator byte) {
	r.text = append(r.text, line...)
	for _, c := range bytes.TrimRight(line, "\r\n") {
		switch {
		case r.at == within && c == '"':
			r.at = behind
		case r.at == within:
			r.fields = append(r.fields, c)
		case c == separator:
			r.ends = append(r.ends, len(r.fields))
			r.at = begins
		case c == '"' && r.at == begins:
			r.at = within
		case c == '"' && r.at == behind: // two for one
			r.fields = append(r.fields, c)
			r.at = within
		case r.at == begins || r.at == inside:
			r.fields = append(r.fields, c)
			r.at = inside
			r.torn = r.torn || c == '\r' || (c == '\v' || c == '\f' || c >= 0x80) && endsLine(r.fields[max(0, len(r.fields)-3):])
		case c == ' ' || c == '\t':
			r.at = closed
		default:
			r.at, r.stray = inside, true
		}
	}
	if r.at == within {
		r.fields = append(r.fields, '\n')
	}
}

// shown is the record for an error.
func (r *record) shown() string { return clip(string(bytes.TrimRight(r.text, "\r\n"))) }

// blank reports whether there is nothing but spaces. A row of empty fields is a row.
func (r *record) blank() bool { return len(r.ends) == 0 && len(bytes.TrimSpace(r.text)) == 0 }

func (r *record) columns() int { return len(r.ends) + 1 }

// field returns the field of that number, from 0, without spaces around it.
func (r *record) field(i int) []byte {
	from, to := 0, len(r.fields)
	if i > 0 {
		from = r.ends[i-1]
	}
	if i < len(r.ends) {
		to = r.ends[i]
	}
	return bytes.TrimSpace(r.fields[from:to])
}
