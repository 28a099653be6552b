package token

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Ring holds the tokens that are valid now. Use [Open] to make one. It is safe for concurrent use,
// but for Reload, which one goroutine at a time may call.
type Ring struct {
	path   string
	seen   os.FileInfo              // when it was read last
	failed string                   // why the file could not be read again, so that it is logged once
	grants atomic.Pointer[[]*Grant] // of one reading of the file
}

// Unchanged reports whether two looks at a file found it as it was. A file that was put in its place is another
// one, even if size and time are the same. A nil look found nothing.
func Unchanged(before, now os.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// Open reads the tokens of a file. A rate lets a second's worth of ids pass at once. An error without the file's name
// is returned when the file can't be used.
func Open(path string) (*Ring, error) {
	r := &Ring{path: path}
	_, err := r.load()
	return r, err
}

// Grant returns a token's grant, or nil. It takes the same time for every wrong one of a length.
func (r *Ring) Grant(hash Hash) *Grant { return find(*r.grants.Load(), hash) }

// Now returns the present grant of a grant's token: its line may have changed. It returns nil if the
// token is no longer valid.
func (r *Ring) Now(g *Grant) *Grant {
	grants := *r.grants.Load()
	if slices.Contains(grants, g) {
		return g
	}
	return find(grants, g.hash)
}

// Reload reads the file again if it changed, and reports whether it did. It logs the tokens that came
// and went, with their rights. While the file can't be read, the tokens stay as they are.
func (r *Ring) Reload(log *slog.Logger) (changed bool) {
	before := *r.grants.Load()
	changed, err := r.load()
	switch {
	case err != nil && err.Error() != r.failed:
		log.Error("the file of tokens can't be read again: the tokens stay as they are", "file", r.path, "error", err)
	case err == nil && changed:
		after := *r.grants.Load()
		if added, removed := lacking(after, before), lacking(before, after); len(added)+len(removed) > 0 {
			log.Info("audit: the tokens were read again", "file", r.path, "added", added, "removed", removed)
		}
	}
	r.failed = ""
	if err != nil {
		r.failed = err.Error()
	}
	return changed
}

// Again reads the file at once, whether or not it seems to have changed. It logs a fault once more. The
// same goroutine calls it as Reload.
func (r *Ring) Again(log *slog.Logger) (changed bool) {
	r.seen, r.failed = nil, ""
	return r.Reload(log)
}

// Warnings lists the tokens that allow a generator which is not among the names.
func (r *Ring) Warnings(names []string) (warnings []string) {
	for _, g := range *r.grants.Load() {
		for _, name := range g.Generators {
			if name != NoGenerator && !slices.Contains(names, name) {
				warnings = append(warnings, fmt.Sprintf("the token of %s allows %q, which is none of the generators: %s", g.Name, name, strings.Join(names, ", ")))
			}
		}
	}
	return warnings
}

// lacking returns the names and the rights of the grants that others do not have.
func lacking(grants, others []*Grant) []string {
	names := map[string]bool{}
	for _, g := range grants {
		if !slices.Contains(others, g) {
			names[g.Name+g.rights()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// load reads the file if it changed. It looks first, so a change while it is read is seen the next time.
func (r *Ring) load() (changed bool, err error) {
	now, err := os.Stat(r.path)
	if err != nil {
		return false, plain(err)
	}
	if Unchanged(r.seen, now) {
		return false, nil
	}
	content, err := os.ReadFile(r.path)
	if err != nil {
		return false, plain(err)
	}
	grants, err := read(string(content))
	if err != nil {
		return false, err
	}
	r.adopt(grants)
	r.seen = now
	return true, nil
}

// read reads lines that end with a line break: a part of the last line may allow more than the whole line.
func read(content string) ([]*Grant, error) {
	grants, err := parse(content)
	if err == nil && !strings.HasSuffix(content, "\n") {
		err = errors.New("the last line has no line break: the file is cut short, or a line break must be added at its end")
	}
	return grants, err
}

// adopt makes grants the valid ones. One that was valid before stays the same, so that its clients
// stay known and its rate goes on.
func (r *Ring) adopt(grants []*Grant) {
	var before []*Grant
	if all := r.grants.Load(); all != nil {
		before = *all
	}
	for i, g := range grants {
		if g.Rate > 0 {
			g.limit = rate.NewLimiter(rate.Limit(g.Rate), g.Rate)
		}
		for _, old := range before {
			switch {
			case old.String() == g.String():
				grants[i] = old
			case old.Name == g.Name && old.hash == g.hash && old.Rate == g.Rate:
				g.limit = old.limit // the client owes the same with other rights
			}
		}
	}
	r.grants.Store(&grants)
}

// plain is an error of a file without the file's name.
func plain(err error) error {
	if path := new(os.PathError); errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}
