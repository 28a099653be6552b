package idsource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/decode"
)

// Item is one id and where it stood in its source.
type Item struct {
	// ID may have the 64th bit set; see [snowfence.ParseUnsigned].
	ID snowfence.ID
	// At counts from 1 what the source consists of: the line of a text, the line
	// at which a record of CSV begins, the record of a binary file, the row of a
	// result. Within a source it only grows.
	At uint64
}

// Source is a stream of ids, for one goroutine at a time but for Done and Skipped.
type Source interface {
	// Name says in messages where the ids come from. It has no password.
	Name() string

	// Read fills items with the ids that come next, and returns how many they
	// are: at least one when the error is nil. At the end it returns 0 and
	// [io.EOF]. With any other error the items before it count, and the source is
	// of no more use. An *[InvalidError] is returned for what is no id.
	Read(ctx context.Context, items []Item) (n int, err error)

	// Place says where an item of this source stood: "line 12", "row 7".
	Place(at uint64) string

	// Done is how many bytes have been read, as they are stored, so compressed ones of
	// gzip; always 0 for a database. It may be called at any time.
	Done() int64

	// Skipped is how many things were no ids, and the first or nil, at any time.
	Skipped() (n uint64, first error)

	// Close gives back what the source holds. Standard input stays open.
	Close() error
}

// Format is how ids are written in a file or stream.
type Format string

// The formats, as --format names them.
const (
	// Text is one id a line. Blank lines and lines that begin with # are none.
	Text Format = "text"
	// CSV is a column of a table with separators, as RFC 4180 has it.
	CSV Format = "csv"
	// Binary is 8 bytes an id, the highest first.
	Binary Format = "binary"
	// BinaryLittle is 8 bytes an id, the lowest first.
	BinaryLittle Format = "binary-little"
)

// Formats are the names of all formats.
func Formats() []Format { return []Format{Text, CSV, Binary, BinaryLittle} }

// Options say how sources are read.
type Options struct {
	// Format is that of files and streams. Empty means CSV if there is a Column, else Text.
	Format Format
	// Encoding is how ids are spelt in texts. Empty means any.
	Encoding decode.Encoding
	// Column is the column of CSV, by its name in the header or by its number
	// from 1 where there is no header; and the column of a database's Table.
	Column string
	// Separator of CSV is one byte of ASCII. Zero means a comma.
	Separator byte
	// Gzip is for files and streams. Empty means that their first bytes tell.
	Gzip Gzip

	// Table is one of a database, with its schema before a dot if needed. It needs Column.
	Table string
	// Query is a statement that returns one column, instead of Table and Column.
	Query string

	// SkipInvalid counts what is no id instead of refusing it.
	SkipInvalid bool

	// Stdin is what "-" reads. Nil means that there is none.
	Stdin io.Reader
	// Expand replaces ${NAME} in the URL of a database. Nil means that none is replaced.
	Expand func(url string) (string, error)
	// Connect opens a database that is read. It returns a *[engine.URLError] for a wrong URL. Nil means that no
	// database can be read.
	Connect func(ctx context.Context, url string) (Database, error)
}

// Database is a connection to a database, which quotes names as its SQL does.
type Database interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
	Quote(name string) string
	Close() error
}

// Set sets an option of [PlaceKeys]. The error says what the value must be.
func (o *Options) Set(key, value string) error {
	switch key {
	case "column":
		o.Column = value
	case "table":
		o.Table = value
	case "query":
		o.Query = value
	case "format":
		return choose(&o.Format, value, Formats())
	case "encoding":
		return choose(&o.Encoding, value, decode.EncodingNames())
	case "gzip":
		return choose(&o.Gzip, value, Gzips())
	case "separator":
		if value == "tab" || value == `\t` {
			value = "\t"
		}
		if len(value) != 1 || value[0] >= 0x80 || strings.ContainsAny(value, "\"\r\n") {
			return errors.New("must be one character of ASCII and no quote, or tab")
		}
		o.Separator = value[0]
	}
	return nil
}

// choose sets a word to one of some.
func choose[T ~string](word *T, value string, words []T) error {
	if !slices.Contains(words, T(value)) {
		return fmt.Errorf("must be one of %s", strings.ReplaceAll(strings.Trim(fmt.Sprint(words), "[]"), " ", ", "))
	}
	*word = T(value)
	return nil
}

// Gzip says whether a source is compressed.
type Gzip string

// The words of --gzip.
const (
	// GzipAuto goes by the first bytes, as with the zero Gzip: bzip2 and zstd are read, too, and other packings
	// named.
	GzipAuto Gzip = "auto"
	// GzipAlways refuses what is not compressed.
	GzipAlways Gzip = "always"
	// GzipNever takes the bytes as they are: for binary ids that begin like a packed file or a text.
	GzipNever Gzip = "never"
)

// Gzips are the words of --gzip.
func Gzips() []Gzip { return []Gzip{GzipAuto, GzipAlways, GzipNever} }

// OptionError is returned when options contradict each other or the source.
type OptionError struct {
	// Option is the flag's name, such as "column".
	Option string
	// Reason says what it must be.
	Reason string
}

func (e *OptionError) Error() string { return fmt.Sprintf("--%s: %s", e.Option, e.Reason) }

// Class is [snowfence.ClassUsage].
func (*OptionError) Class() snowfence.Class { return snowfence.ClassUsage }

// ErrNoServer is wrapped when a database is out of reach or refuses the query.
var ErrNoServer = errors.New("snowfence: database gave no ids")

// InvalidError is returned for what is no id. It wraps the reason, which wraps
// [snowfence.ErrInvalidID].
type InvalidError struct {
	// Source and Place say where it stood.
	Source, Place string
	// Text is what stood there, cut to 64 bytes.
	Text string
	// Reason says why that is no id.
	Reason error
	// Hint says what may help, or is empty.
	Hint string
}

// Error names the source, the place, the text and the reason; a hint has its own line.
func (e *InvalidError) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Source, e.Place, strings.TrimPrefix(e.Reason.Error(), "snowfence: "))
	if e.Hint != "" {
		s += "\n" + e.Hint
	}
	return s
}

// Unwrap returns the reason.
func (e *InvalidError) Unwrap() error { return e.Reason }

// Open opens a path, "-" or the URL of a database. An *[OptionError] is returned for
// options that do not fit it, a *[PlaceError] for a name that leads nowhere and ends in
// what looks like an option, one that wraps [ErrNoServer] for a database, and else
// what the operating system says.
func Open(ctx context.Context, name string, o Options) (Source, error) {
	if engine.IsDatabase(name) {
		return openColumn(ctx, name, o)
	}
	return openFile(ctx, name, o)
}

// Look returns the size of a source in bytes as they are stored, or 0 if that is not known.
// It reads nothing, but returns what error of [Open] can be told so: that the last of
// many sources is missing should not be found out after an hour.
func Look(name string, o Options) (size int64, err error) {
	if engine.IsDatabase(name) {
		_, err := databaseURL(name, o)
		return 0, err
	}
	if _, err := formatOf(name, o); err != nil || name == "-" {
		return 0, err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return 0, pathFault(name, err)
	case info.IsDir():
		return 0, fmt.Errorf("%s: is a directory", Shown(name))
	case !info.Mode().IsRegular():
		return 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, pathFault(name, err)
	}
	return max(1, info.Size()), f.Close()
}
