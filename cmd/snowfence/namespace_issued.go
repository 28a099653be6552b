package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
)

// checkIssued is what namespace verify finds where ids are newer than the store.
const checkIssued roster.Check = "issued"

// givenOut is what is known to have been given out. A store that is older was restored, and would give it again.
type givenOut struct {
	program
	ids     []snowfence.ID
	places  []string
	numbers []string // NAME=NUMBER, or of a daily sequence NAME=DATE:NUMBER
}

func (i *givenOut) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Func("last-id", "greatest `ID` known of the namespace, or of a worker id; may be repeated", func(list string) error {
		ids, err := parseLastIDs(list)
		i.ids = append(i.ids, ids...)
		return err
	})
	flags.StringArrayVar(&i.places, "ids", nil, "file or column with ids of the namespace, as 'snowfence check' names it; may be repeated")
	flags.StringArrayVar(&i.numbers, "last-number", nil, "greatest number of a counter, NAME=NUMBER, or NAME=DATE:NUMBER of a daily sequence; may be repeated")
}

// compare yields a fault for each worker id and counter that is behind what was given out.
func (i *givenOut) compare(ctx context.Context, r *roster.Roster, s store.Store, found func(roster.Finding) error) error {
	latest := map[int64]snowfence.Parts{} // by worker number
	for _, id := range i.ids {
		if err := see(latest, r.Layout(), id); err != nil {
			return err
		}
	}
	for _, place := range i.places {
		if err := i.read(ctx, place, func(id snowfence.ID) error { return see(latest, r.Layout(), id) }); err != nil {
			return err
		}
	}
	for number, parts := range latest {
		w, err := r.Worker(ctx, number)
		if err != nil {
			return unavailable(err)
		}
		if w.Register.Until > parts.Tick {
			continue
		}
		id, err := r.Layout().Compose(parts)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("id %d was given out at tick %d, and the store ends at %d: the store is older than its ids. Stop all holders, "+
			"and run 'snowfence workers import list --workers all --layout %s --last-id %d'", id, parts.Tick, w.Register.Until, r.Layout(), id)
		if err := found(roster.Finding{Severity: roster.Fault, Check: checkIssued, Workers: []int64{number}, Key: w.Key, Text: text}); err != nil {
			return err
		}
	}
	for _, number := range i.numbers {
		if err := behind(ctx, s, r.Name(), number, found); err != nil {
			return err
		}
	}
	return nil
}

// see keeps the greatest tick of each worker id.
func see(latest map[int64]snowfence.Parts, l snowfence.Layout, id snowfence.ID) error {
	parts, err := l.Decompose(id)
	if err != nil {
		return err
	}
	number := parts.Datacenter<<l.Bits(snowfence.Worker) | parts.Worker
	if before, ok := latest[number]; !ok || parts.Tick > before.Tick {
		latest[number] = parts
	}
	return nil
}

// read reads every id of a place.
func (i *givenOut) read(ctx context.Context, text string, see func(snowfence.ID) error) error {
	place, err := idsource.ParsePlace(text)
	if err != nil {
		return err
	}
	options, err := place.Options(idsource.Options{Stdin: i.stdin, Expand: func(url string) (string, error) { return config.Expand(url, i.environ) }})
	if err != nil {
		return err
	}
	source, err := idsource.Open(ctx, place.Name, options)
	if err != nil {
		return unavailable(err)
	}
	defer i.closing("close "+source.Name()+": ", source.Close)
	items := make([]idsource.Item, 4096)
	for {
		n, err := source.Read(ctx, items)
		for _, item := range items[:n] {
			if err := see(item.ID); err != nil {
				return fmt.Errorf("%s: %s: %w", source.Name(), source.Place(item.At), err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unavailable(err)
		}
	}
}

// behind finds a counter that is gone, or would give a number again.
func behind(ctx context.Context, s store.Store, namespace, text string, found func(roster.Finding) error) error {
	name, last, _ := strings.Cut(text, "=")
	date, digits, dated := strings.Cut(last, ":")
	if !dated {
		date, digits = "", last
	}
	greatest, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || greatest < 0 {
		return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("last-number %q: must be NAME=NUMBER, or NAME=DATE:NUMBER", text))
	}
	fault := func(format string, args ...any) error {
		return found(roster.Finding{Severity: roster.Fault, Check: checkIssued, Key: "counter/" + namespace + "/" + name, Text: fmt.Sprintf(format, args...)})
	}
	c, err := counter.Show(ctx, s, namespace, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault("counter %s gave %d, and its record is gone: see docs/restoring.md", name, greatest)
	case err != nil:
		return unavailable(err)
	}
	for _, lane := range c.Lanes {
		if lane.Name == date && lane.Next > greatest {
			return nil
		}
	}
	option := ""
	if date != "" {
		option = " --date " + date
	}
	return fault("counter %s gave %s, and the store would give it again: run 'snowfence counters set %s %d%s'", name, last, name, greatest+1, option)
}
