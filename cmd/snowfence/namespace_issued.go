package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

// lastID is the place of the ids that were given by the flag itself.
const lastID = "--last-id"

// givenOut is what is known to have been given out. A store that is older was restored, and would give it again.
type givenOut struct {
	program
	ids      []snowfence.ID
	places   []string
	encoding decode.Encoding // of the places
	numbers  []string        // NAME=NUMBER

	compared uint64 // ids of this store's datacenters
	foreign  uint64 // ids of others
}

// add adds the flags to a verb.
func (i *givenOut) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Func(strings.TrimPrefix(lastID, "--"), "greatest `ID` known of the namespace, or of a worker id; may be repeated", lastIDs(&i.ids))
	flags.StringArrayVar(&i.places, "ids", nil, "file or column with ids of the namespace, as 'snowfence check' names it; may be repeated")
	encodingFlag(cmd, &i.encoding, "encoding of --ids: %s (default: decimal, or hex with 0x)")
	flags.StringArrayVar(&i.numbers, "last-number", nil, "greatest number of a counter that is no daily sequence: NAME=NUMBER; may be repeated")
}

// newest has the id with the greatest tick of each worker number.
type newest map[int64]snowfence.Parts

func (n newest) add(number int64, parts snowfence.Parts) {
	if before, ok := n[number]; !ok || parts.Tick > before.Tick {
		n[number] = parts
	}
}

// older is what is found where the store is behind.
func older(key, format string, args ...any) roster.Finding {
	return roster.Finding{Severity: roster.Fault, Check: roster.CheckIssued, Key: key, Text: fmt.Sprintf(format, args...)}
}

// compare finds each worker id that is behind the ids that were given out.
func (i *givenOut) compare(ctx context.Context, r *roster.Roster) (found []roster.Finding, err error) {
	places := i.places
	if len(i.ids) > 0 {
		places = append([]string{lastID}, places...)
	}
	if len(places) > 0 && r.Layout().Wide {
		return nil, snowfence.NewError(snowfence.ClassUsage, "namespace "+r.Name()+" has a wide layout: its ids can't be compared")
	}
	latest := newest{} // of all places
	for _, place := range places {
		name, its, err := i.newest(ctx, place, r)
		if err != nil {
			return nil, err
		}
		last := slices.MaxFunc(slices.Collect(maps.Values(its)), func(a, b snowfence.Parts) int { return cmp.Compare(a.Tick, b.Tick) })
		if last.Tick < r.Begun() {
			found = append(found, older(name, "its newest id is of %s, before the namespace was made: "+
				"these are other numbers (of a counter: --last-number), or the namespace was begun again: see docs/restoring.md",
				decode.FormatTime(r.Layout().TimeOf(last.Tick), r.Layout().Unit)))
			continue
		}
		for number, parts := range its {
			latest.add(number, parts)
		}
	}
	for number, parts := range latest {
		w, err := r.Worker(ctx, number)
		if err != nil {
			return nil, unavailable(err)
		}
		if w.Register.Until > parts.Tick {
			continue
		}
		id, err := r.Layout().Compose(parts)
		if err != nil {
			return nil, err
		}
		behind := older(w.Key, "id %d was given out at tick %d, and the store ends at %d: the store is older than its ids: see docs/restoring.md",
			id, parts.Tick, w.Register.Until)
		behind.Workers = []int64{number}
		found = append(found, behind)
	}
	if i.foreign > 0 {
		said := fmt.Sprintf("%s of other datacenters than %v, which this store has: compare %s with the other store",
			text.Count(i.foreign, "id"), r.Record().Datacenters, text.Plural(i.foreign, "it", "them"))
		found = append(found, roster.Finding{Severity: roster.Note, Check: roster.CheckIssued, Key: r.Name(), Text: said})
	}
	return found, nil
}

// newest returns the greatest tick of each worker id in a place, and how the place is named. It refuses a place without ids
// of this store, and one whose ids look rounded.
func (i *givenOut) newest(ctx context.Context, place string, r *roster.Roster) (name string, all newest, err error) {
	all = newest{}
	l, rounding := r.Layout(), source.Rounding{}
	see := func(id snowfence.ID) error {
		rounding.Add([]source.Item{{ID: id}})
		parts, err := l.Decompose(id)
		number := parts.Datacenter<<l.Bits(snowfence.Worker) | parts.Worker
		switch {
		case err != nil:
			return err
		case !r.Own(number):
			i.foreign++
		default:
			all.add(number, parts)
			i.compared++
		}
		return nil
	}
	if place != lastID {
		name, err = i.read(ctx, place, see)
	} else {
		name = place
		for _, id := range i.ids {
			err = errors.Join(err, see(id))
		}
	}
	switch evidence := rounding.Text(); {
	case err != nil:
	case evidence != "":
		err = snowfence.NewError(snowfence.ClassInvalidID, name+": "+evidence+": export the column as text from where the ids were made")
	case len(all) == 0:
		err = snowfence.NewError(snowfence.ClassInvalidID, name+": no ids of this store were read, so nothing is known of it")
	}
	return name, all, err
}

// read reads every id of a place, and returns how the place is named.
func (i *givenOut) read(ctx context.Context, text string, see func(snowfence.ID) error) (name string, err error) {
	place, err := source.ParsePlace(text)
	if err != nil {
		return "", err
	}
	options := i.reading()
	options.Encoding = i.encoding
	from, err := source.Open(ctx, place.Name, place.Options(options))
	if err != nil {
		return "", unavailable(err)
	}
	defer i.closing("close "+from.Name()+": ", from.Close)
	items := make([]source.Item, 4096)
	for {
		n, err := from.Read(ctx, items)
		for _, item := range items[:n] {
			if err := see(item.ID); err != nil {
				return "", fmt.Errorf("%s: %s: %w", from.Name(), from.Place(item.At), err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return from.Name(), nil
		case err != nil:
			return "", unavailable(err)
		}
	}
}

// counters finds each counter that is gone, or would give a number again.
func (i *givenOut) counters(ctx context.Context, at *site) (found []roster.Finding, err error) {
	for _, text := range i.numbers {
		name, last, _ := strings.Cut(text, "=")
		key := "counter/" + at.roster.Namespace + "/" + name
		wrong := func(limit string) ([]roster.Finding, error) {
			return nil, snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("last-number %q: %s", text, limit))
		}
		greatest, err := strconv.ParseUint(last, 10, 63)
		if name == "" || err != nil {
			return wrong("must be NAME=NUMBER, of a counter without dates")
		}
		c, err := counter.Show(ctx, at.roster.Store, at.roster.Namespace, name)
		switch g, configured := at.settings.Generators[name]; {
		case errors.Is(err, store.ErrNotFound) && configured && !builtin.Counts(g.Kind):
			return wrong(fmt.Sprintf("generator %s of kind %s has no counter in the store: see docs/restoring.md", name, g.Kind))
		case errors.Is(err, store.ErrNotFound):
			found = append(found, older(key, "counter %s gave %s, and its record is gone: see docs/restoring.md", name, last))
		case err != nil && (c.Name != "" || errors.Is(err, store.ErrDamaged)):
			found = append(found, older(key, "counter %s gave %s, and can't be compared: %v: see docs/restoring.md", name, last, err))
		case err != nil:
			return nil, unavailable(err)
		default:
			if c.Digits > 0 {
				return wrong(fmt.Sprintf("counter %s is a daily sequence: compare each date of 'snowfence counters show %s'", name, name))
			}
			if !slices.ContainsFunc(c.Lanes, func(l counter.Lane) bool { return l.Next > int64(greatest) }) {
				found = append(found, older(key, "counter %s gave %s, and the store would give it again: see docs/restoring.md", name, last))
			}
		}
	}
	return found, nil
}

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

// alone returns nil if counters alone are asked for, and nothing shows that the namespace had a record. Otherwise
// its error shows what there is.
func (i *givenOut) alone(ctx context.Context, c roster.Config, kept [][]byte) error {
	name := c.Namespace
	all, err := roster.Namespaces(ctx, c.Store, c.Clock.Wall())
	if err != nil {
		return unavailable(err)
	}
	had := slices.ContainsFunc(all, func(s roster.Summary) bool { return s.Name == name }) ||
		slices.ContainsFunc(kept, func(page []byte) bool { return roster.PageOf(name, page) })
	if len(i.numbers) > 0 && len(i.ids)+len(i.places) == 0 && !had {
		return nil
	}
	var counters []string
	for found, err := range counter.List(ctx, c.Store, name) {
		if err != nil && found.Name == "" {
			return unavailable(err)
		}
		counters = append(counters, found.Name)
	}
	there := "there is no counter of it either"
	if len(counters) > 0 {
		there = "compare its counters by --last-number: " + strings.Join(counters, ", ")
	}
	return snowfence.NewError(snowfence.ClassFinal, fmt.Sprintf("the record of namespace %s is missing: see docs/restoring.md; %s", name, there))
}
