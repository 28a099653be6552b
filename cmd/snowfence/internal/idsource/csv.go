package idsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
)

// records is a column of CSV.
type records struct {
	*input
	refusals
	speller
	separator byte
	column    string // its name, until the header is read
	index     int    // its number from 0
	lines     uint64 // that were taken
	at        uint64 // the line at which the last record begins
	stray     bool   // whether text stands behind a closing quote of it
}

// maxColumns is the greatest number of a column.
const maxColumns = 1 << 20

// newRecords reads CSV.
func newRecords(in *input, o Options) (*records, error) {
	r := &records{input: in, refusals: refusals{skip: o.SkipInvalid}, separator: o.Separator}
	r.speller = speller{name: in.name, place: r.Place, encoding: o.Encoding}
	if r.separator == 0 {
		r.separator = ','
	}
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

// Name implements Source.
func (r *records) Name() string { return r.input.Name() }

// Place implements Source.
func (*records) Place(at uint64) string { return fmt.Sprintf("line %d", at) }

// Read implements Source.
func (r *records) Read(ctx context.Context, items []Item) (n int, err error) {
	if r.column != "" {
		if err := r.header(ctx); err != nil {
			return 0, err
		}
	}
	for n < len(items) {
		record, err := r.next(ctx, n > 0)
		if err != nil {
			if n > 0 && (errors.Is(err, errLater) || errors.Is(err, io.EOF)) {
				return n, nil
			}
			return n, err
		}
		if len(bytes.TrimSpace(record)) == 0 {
			continue
		}
		field, columns := field(record, r.separator, r.index)
		var id snowfence.ID
		switch {
		case r.stray:
			err = strayText(record)
		case columns <= r.index:
			err = &snowfence.IDError{Form: "CSV", Text: clip(string(record)), Position: -1,
				Reason: fmt.Sprintf("has no column %d, only %d", r.index+1, columns)}
		default:
			id, err = r.speller.read(strings.TrimSpace(string(field)), r.at)
		}
		if err == nil {
			items[n] = Item{id, r.at}
			n++
			continue
		}
		hint := ""
		if r.at == 1 && columns > r.index && slices.ContainsFunc([]rune(string(field)), letter) {
			hint = "if it is a header, --column NAME reads the column under it"
		}
		if err := r.refuse(&InvalidError{r.input.name, r.Place(r.at), clip(string(record)), err, hint}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// header finds the column by its name.
func (r *records) header(ctx context.Context) error {
	record, err := r.next(ctx, false)
	if errors.Is(err, io.EOF) {
		return &OptionError{"column", fmt.Sprintf("%s: is empty and has no column %q", r.input.name, r.column)}
	}
	if err != nil {
		return err
	}
	if r.stray {
		return &InvalidError{r.input.name, r.Place(r.at), clip(string(record)), strayText(record), ""}
	}
	var names []string
	for i := 0; ; i++ {
		name, columns := field(record, r.separator, i)
		if columns <= i {
			break
		}
		names = append(names, strings.TrimSpace(string(name)))
	}
	r.index = slices.Index(names, r.column)
	if r.index < 0 {
		return &OptionError{"column", fmt.Sprintf("%s: has no column %q; line %d has %s", r.input.name, r.column, r.at, printable(clip(strings.Join(names, ", "))))}
	}
	if slices.Contains(names[r.index+1:], r.column) {
		return &OptionError{"column", fmt.Sprintf("%s: has two columns %q; a number, --column %d, says which in a file without a header", r.input.name, r.column, r.index+1)}
	}
	r.column = ""
	return nil
}

// next takes the next record, without its end. A record is a line, and the lines
// after it as long as a quote is open.
func (r *records) next(ctx context.Context, something bool) ([]byte, error) {
	length, lines, quotes := 0, uint64(0), quoting{}
	for {
		line, err := r.line(ctx, length, something)
		switch {
		case errors.Is(err, io.EOF) && length > 0:
			// The quote is open to the end.
			return nil, &InvalidError{r.input.name, r.Place(r.lines + 1), clip(string(r.window[r.low : r.low+length])),
				&snowfence.IDError{Form: "CSV", Text: clip(string(r.window[r.low : r.low+length])), Position: -1, Reason: "has a quote that is never closed"}, ""}
		case err != nil:
			var long *lengthError
			if errors.As(err, &long) {
				err = &InvalidError{r.input.name, r.Place(r.lines + 1), clip(string(r.window[r.low : r.low+maxText+1])), long, ""}
			}
			return nil, err
		}
		length += len(line)
		lines++
		if r.lines+lines == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		quotes.see(line, r.separator)
		if quotes.at != within {
			break
		}
	}
	r.stray = quotes.stray
	record := r.window[r.low : r.low+length]
	r.low += length
	r.at = r.lines + 1
	r.lines += lines
	if r.at == 1 {
		record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(record, []byte("\n")), []byte("\r")), nil
}

// strayText refuses a record of which nobody knows where its fields end, such as
// one in which a backslash stands before a quote.
func strayText(record []byte) error {
	return &snowfence.IDError{Form: "CSV", Text: clip(string(record)), Position: -1,
		Reason: "has text behind a closing quote: within quotes a quote must be doubled"}
}

// quoting follows the quotes of a record, line by line. Only a quote at the
// beginning of a field opens one that may go on over lines: were any other taken
// for one, the lines up to the next would be lost.
type quoting struct {
	at    standing
	stray bool // text stood behind a closing quote
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

// see follows a line.
func (q *quoting) see(line []byte, separator byte) {
	if bytes.IndexByte(line, '"') < 0 {
		return // nothing opens, and nothing closes
	}
	for _, c := range bytes.TrimRight(line, "\r\n") {
		switch {
		case q.at == within:
			if c == '"' {
				q.at = behind
			}
		case c == separator:
			q.at = begins
		case c == '"' && (q.at == begins || q.at == behind):
			q.at = within
		case q.at == begins:
			q.at = inside
		case q.at != inside && (c == ' ' || c == '\t'):
			q.at = closed
		case q.at != inside:
			q.at, q.stray = inside, true
		}
	}
}

// field returns the field of that number in a record, without its quotes, and
// how many columns were seen on the way: more than index if it is there.
func field(record []byte, separator byte, index int) (text []byte, columns int) {
	for columns = 0; ; columns++ {
		if len(record) > 0 && record[0] == '"' {
			text, record = quoted(record)
		} else {
			text = record
			if i := bytes.IndexByte(record, separator); i >= 0 {
				text = record[:i]
			}
			record = record[len(text):]
		}
		if columns == index {
			return text, columns + 1
		}
		if len(record) == 0 {
			return nil, columns + 1
		}
		// What follows a closing quote up to the separator belongs to nothing.
		i := bytes.IndexByte(record, separator)
		if i < 0 {
			return nil, columns + 1
		}
		record = record[i+1:]
	}
}

// quoted returns what stands between the quotes that a record begins with, two
// for one undone, and what follows them.
func quoted(record []byte) (text, rest []byte) {
	rest = record[1:]
	doubled := false
	for i := 0; i < len(rest); i++ {
		if rest[i] != '"' {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == '"' {
			doubled = true
			i++
			continue
		}
		text, rest = rest[:i], rest[i+1:]
		if doubled {
			text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
		}
		return text, rest
	}
	return rest, nil
}
