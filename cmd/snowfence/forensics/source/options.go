package source

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// Format is how ids are written in a file or stream.
type Format string

// The formats, as --format names them.
const (
	Text         Format = "text"          // one id a line; blank lines and lines that begin with # are left out
	CSV          Format = "csv"           // a column of a table with separators, as RFC 4180 has it
	Binary       Format = "binary"        // 8 bytes an id, the highest first
	BinaryLittle Format = "binary-little" // 8 bytes an id, the lowest first
)

// Formats are the names of all formats.
func Formats() []Format { return []Format{Text, CSV, Binary, BinaryLittle} }

// Gzip says whether a source is compressed.
type Gzip string

// The words of --gzip. The zero Gzip is GzipAuto.
const (
	GzipAuto   Gzip = "auto"   // by the first bytes: bzip2 and zstd are read, too, and other packings named
	GzipAlways Gzip = "always" // bytes that are not compressed are refused
	GzipNever  Gzip = "never"  // the bytes as they are: for binary ids that begin like a packed file or a text
)

// Gzips are the words of --gzip.
func Gzips() []Gzip { return []Gzip{GzipAuto, GzipAlways, GzipNever} }

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

	// SkipInvalid counts a text that is no id instead of refusing it.
	SkipInvalid bool

	// Stdin is read for "-". Nil means that there is none.
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
		if len(value) != 1 || value[0] == 0 || value[0] >= 0x80 || strings.ContainsAny(value, "\"\r\n") {
			return errors.New("must be one character of ASCII and no quote, or tab")
		}
		o.Separator = value[0]
	}
	return nil
}

// choose sets a word to one of some.
func choose[T ~string](word *T, value string, words []T) error {
	if !slices.Contains(words, T(value)) {
		return fmt.Errorf("must be one of %s", strings.Join(text.Strings(words), ", "))
	}
	*word = T(value)
	return nil
}

// formatOf returns the format of a file or stream.
func formatOf(name string, o Options) (Format, error) {
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		return "", fmt.Errorf("%s://: ids are read from files, standard input, postgres:// and mysql://", Shown(scheme))
	}
	format := cmp.Or(o.Format, Text)
	if o.Format == "" && o.Column != "" {
		format = CSV
	}
	if o.Column != "" && format != CSV && o.Table == "" {
		return "", wrong("column", "%s: must not be given with --format %s", Shown(name), format)
	}
	return format, nil
}
