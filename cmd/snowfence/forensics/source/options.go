package source

import (
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

// Options say how sources are read.
type Options struct {
	// Encoding is how ids are spelt in texts. Empty means any.
	Encoding decode.Encoding
	// Column is the column of CSV, by its name in the header or by its number from 1 without a header;
	// and the column of a database's Table. A file or stream without a Column has one id a line.
	Column string
	// Separator of CSV is one byte of ASCII. Zero means a comma.
	Separator byte

	// Table is one of a database, with its schema before a dot if needed. It needs Column.
	Table string
	// Query is a statement that returns one column, instead of Table and Column.
	Query string

	// Stdin is read for "-". It may be nil.
	Stdin io.Reader
	// Expand replaces ${NAME} in the URL of a database. Nil leaves the URL as it is.
	Expand func(url string) (string, error)
	// Connect opens a database that is read. It returns a *[engine.URLError] for a wrong URL. Nil refuses databases.
	//
	Connect func(ctx context.Context, url string) (Database, error)
}

// Database is a connection to a database, which quotes names as its SQL does.
type Database interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
	Quote(name string) string
	Close() error
}

// Set sets an option of [PlaceKeys]. The error names the values that are accepted.
func (o *Options) Set(key, value string) error {
	switch key {
	case "column":
		o.Column = value
	case "table":
		o.Table = value
	case "query":
		o.Query = value
	case "encoding":
		if names := decode.EncodingNames(); !slices.Contains(names, decode.Encoding(value)) {
			return fmt.Errorf("must be one of %s", strings.Join(text.Strings(names), ", "))
		}
		o.Encoding = decode.Encoding(value)
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
