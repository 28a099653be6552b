package source

import (
	"context"
	"database/sql"
	"io"

	"snowfence.example/snowfence/internal/decode"
)

// Options set how sources are read.
type Options struct {
	// Encoding is how ids are spelt in texts. Empty means decimal, or hex with 0x in front.
	Encoding decode.Encoding
	// Column is the column of CSV, by its name in the header or by its number from 1 without a header.
	// A file or stream without a Column has one id a line.
	Column string
	// Query is a statement of a database that returns one column.
	Query string

	// Stdin is read for "-". It may be nil.
	Stdin io.Reader
	// Expand replaces ${NAME} in the URL of a database. Nil leaves the URL as it is.
	Expand func(url string) (string, error)
	// Connect opens a database that is read. It returns a *[engine.URLError] for a wrong URL. Nil refuses databases.
	Connect func(ctx context.Context, url string) (Database, error)
}

// Database is a connection to a database.
type Database interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
	Close() error
}
