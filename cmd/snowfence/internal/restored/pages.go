package restored

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/roster"
)

// Pages returns the pages in the journals of this host, and changes nothing there.
func Pages(settings config.Config) (kept [][]byte, err error) {
	folders, err := os.ReadDir(settings.Journals())
	if settings.Data == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, folder := range folders {
		peeked, wrong := journal.Peek(filepath.Join(settings.Journals(), folder.Name()))
		kept, err = append(kept, peeked...), errors.Join(err, wrong)
	}
	return kept, err
}

// Alone returns nil if counters alone are asked for, and nothing shows that the namespace had a record. It
// returns an error that says what there is otherwise.
func (k *Known) Alone(ctx context.Context, c roster.Config, kept [][]byte) error {
	name := c.Namespace
	all, err := roster.Namespaces(ctx, c.Store, c.Clock.Wall())
	if err != nil {
		return err
	}
	had := slices.ContainsFunc(all, func(s roster.Summary) bool { return s.Name == name }) ||
		slices.ContainsFunc(kept, func(page []byte) bool { return roster.PageOf(name, page) })
	if len(k.Numbers) > 0 && len(k.IDs)+len(k.Places) == 0 && !had {
		return nil
	}
	var counters []string
	for found, err := range counter.List(ctx, c.Store, name) {
		if err != nil && found.Name == "" {
			return err
		}
		counters = append(counters, found.Name)
	}
	there := "there is no counter of it either"
	if len(counters) > 0 {
		there = "compare its counters by --last-number: " + strings.Join(counters, ", ")
	}
	return snowfence.NewError(snowfence.ClassFinal, fmt.Sprintf("the record of namespace %s is gone, or never was there: see docs/restoring.md; %s", name, there))
}

// Behind finds what a namespace is behind: the ids that were given out, and the pages of journals. It also
// returns how many pages are of the namespace.
func (k *Known) Behind(ctx context.Context, r *roster.Roster, kept [][]byte) (found []roster.Finding, pages int64, err error) {
	if found, err = k.Compare(ctx, r); err != nil {
		return nil, 0, err
	}
	for _, page := range kept {
		behind, ours, err := r.Compare(ctx, page)
		if err != nil {
			return nil, 0, err
		}
		if found = append(found, behind...); ours {
			pages++
		}
	}
	return found, pages, nil
}
