package main

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

// pages returns the pages in the journals of this host, and changes nothing there.
func pages(settings config.Config) (kept [][]byte, err error) {
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

// alone returns nil if counters alone are asked for, and nothing shows that the namespace had a record. It
// returns an error that says what there is otherwise.
func (i *givenOut) alone(ctx context.Context, at *site, kept [][]byte) error {
	name := at.roster.Namespace
	all, err := roster.Namespaces(ctx, at.roster.Store, at.clock.Wall())
	if err != nil {
		return unavailable(err)
	}
	had := slices.ContainsFunc(all, func(s roster.Summary) bool { return s.Name == name }) ||
		slices.ContainsFunc(kept, func(page []byte) bool { return roster.PageOf(name, page) })
	if len(i.numbers) > 0 && len(i.ids)+len(i.places) == 0 && !had {
		return nil
	}
	var counters []string
	for c, err := range counter.List(ctx, at.roster.Store, name) {
		if err != nil && c.Name == "" {
			return unavailable(err)
		}
		counters = append(counters, c.Name)
	}
	there := "there is no counter of it either"
	if len(counters) > 0 {
		there = "compare its counters by --last-number: " + strings.Join(counters, ", ")
	}
	return snowfence.NewError(snowfence.ClassFinal, fmt.Sprintf("the record of namespace %s is gone, or never was there: see docs/restoring.md; %s", name, there))
}
