package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// Item is one id and where it stood in its source.
type Item struct {
	// ID may have the 64th bit set; see [snowfence.ParseUnsigned].
	ID snowfence.ID
	// At counts the parts of a source from 1: the line of a text, the line at which a
	// record of CSV begins, the row of a result. Within a source it only grows.
	At uint64
}

// Source is a stream of ids, for one goroutine at a time.
type Source interface {
	// Name returns where the ids come from, for messages, without a password.
	Name() string

	// Read fills items with the ids that come next, and returns how many they
	// are: at least one when the error is nil. At the end it returns 0 and
	// [io.EOF]. With any other error the items before it count, and the source has ended. An
	// *[InvalidError] is returned for an invalid text.
	Read(ctx context.Context, items []Item) (n int, err error)

	// Place returns where an item of this source stood: "line 12", "row 7".
	Place(at uint64) string

	// Close frees the source. Standard input stays open.
	Close() error
}

// UsageError is returned for options and places that are wrong: it names the option and the limit,
// without a password.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Class is [snowfence.ClassUsage].
func (UsageError) Class() snowfence.Class { return snowfence.ClassUsage }

// wrong makes a [UsageError] about an option.
func wrong(option, format string, args ...any) error {
	return UsageError("--" + option + ": " + fmt.Sprintf(format, args...))
}

// ErrNoServer is wrapped when a database is out of reach or refuses the query.
var ErrNoServer = errors.New("snowfence: database gave no ids")

// InvalidError is returned for an invalid text. It wraps the reason, which wraps
// [snowfence.ErrInvalidID].
type InvalidError struct {
	// Source and Place are where the text stood.
	Source, Place string
	// Reason is why the text is invalid.
	Reason error
	// Hint names a remedy, or is empty.
	Hint string
}

// Error names the source, the place and the reason; a hint has its own line.
func (e *InvalidError) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Source, e.Place, strings.TrimPrefix(e.Reason.Error(), "snowfence: "))
	if e.Hint != "" {
		s += "\n" + e.Hint
	}
	return s
}

// Unwrap returns the reason.
func (e *InvalidError) Unwrap() error { return e.Reason }

// Open opens a path, "-" or the URL of a database. A [UsageError] is returned for
// options that do not fit it; an error that wraps [ErrNoServer] for a database; and
// otherwise the error of the operating system.
func Open(ctx context.Context, name string, o Options) (Source, error) {
	if engine.IsDatabase(name) {
		return openColumn(ctx, name, o)
	}
	return openFile(name, o)
}

// Look returns the errors of [Open] that show before reading: an hour is lost
// if only then the last of many sources is found missing.
func Look(name string, o Options) error {
	if engine.IsDatabase(name) {
		_, err := databaseURL(name, o)
		return err
	}
	if err := fileName(name); err != nil || name == "-" {
		return err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return pathFault(name, err)
	case info.IsDir():
		return fmt.Errorf("%s: is a directory", Shown(name))
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return pathFault(name, err)
	}
	return f.Close()
}

// fileName returns an error for a URL with an unknown scheme.
func fileName(name string) error {
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		return fmt.Errorf("%s://: ids are read from files, standard input, postgres:// and mysql://", Shown(scheme))
	}
	return nil
}
