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
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
)

// lastID is the place of the ids that were given by the flag itself.
const lastID = "--last-id"

// givenOut is what is known to have been given out. A store that is older was restored, and would give it again.
type givenOut struct {
	program
	ids     []snowfence.ID
	places  []string
	numbers []string // NAME=NUMBER, or of a daily sequence NAME=DATE:NUMBER or NAME=TEXT
}

func (i *givenOut) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Func(strings.TrimPrefix(lastID, "--"), "greatest `ID` known of the namespace, or of a worker id; may be repeated", func(list string) error {
		ids, err := parseLastIDs(list)
		i.ids = append(i.ids, ids...)
		return err
	})
	flags.StringArrayVar(&i.places, "ids", nil, "file or column with ids of the namespace, as 'snowfence check' names it; may be repeated")
	flags.StringArrayVar(&i.numbers, "last-number", nil, "greatest number of a counter, NAME=NUMBER, or NAME=DATE:NUMBER or NAME=TEXT of a daily sequence; may be repeated")
}

// compare finds each worker id that is behind the ids that were given out.
func (i *givenOut) compare(ctx context.Context, r *roster.Roster, found func(roster.Finding) error) error {
	places := i.places
	if len(i.ids) > 0 {
		places = append([]string{lastID}, places...)
	}
	if len(places) > 0 && r.Layout().Wide {
		return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %s has a wide layout: its ids can't be compared, only journals and counters", r.Name()))
	}
	latest := map[int64]snowfence.Parts{} // by worker number
	for _, place := range places {
		name, newest, err := i.newest(ctx, place, r.Layout())
		if err != nil {
			return err
		}
		last := slices.MaxFunc(slices.Collect(maps.Values(newest)), func(a, b snowfence.Parts) int { return cmp.Compare(a.Tick, b.Tick) })
		if last.Tick < r.Begun() {
			text := fmt.Sprintf("its newest id is of %s, before the namespace was made: these are other numbers (of a counter: --last-number), "+
				"or the namespace was begun again: see docs/restoring.md", decode.FormatTime(r.Layout().TimeOf(last.Tick), r.Layout().Unit))
			if err := found(roster.Finding{Severity: roster.Fault, Check: roster.CheckIssued, Key: name, Text: text}); err != nil {
				return err
			}
			continue
		}
		for number, parts := range newest {
			if before, ok := latest[number]; !ok || parts.Tick > before.Tick {
				latest[number] = parts
			}
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
		if err := found(roster.Finding{Severity: roster.Fault, Check: roster.CheckIssued, Workers: []int64{number}, Key: w.Key, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the greatest tick of each worker id in a place, and how the place is named. It refuses a place without ids.
func (i *givenOut) newest(ctx context.Context, place string, l snowfence.Layout) (name string, newest map[int64]snowfence.Parts, err error) {
	newest = map[int64]snowfence.Parts{}
	see := func(id snowfence.ID) error {
		parts, err := l.Decompose(id)
		number := parts.Datacenter<<l.Bits(snowfence.Worker) | parts.Worker
		if before, ok := newest[number]; err == nil && (!ok || parts.Tick > before.Tick) {
			newest[number] = parts
		}
		return err
	}
	if place != lastID {
		name, err = i.read(ctx, place, see)
	} else {
		name = place
		for _, id := range i.ids {
			err = errors.Join(err, see(id))
		}
	}
	if err == nil && len(newest) == 0 {
		err = snowfence.NewError(snowfence.ClassInvalidID, name+": no ids were read, so nothing is known of the store")
	}
	return name, newest, err
}

// read reads every id of a place, and returns how the place is named.
func (i *givenOut) read(ctx context.Context, text string, see func(snowfence.ID) error) (name string, err error) {
	place, err := idsource.ParsePlace(text)
	if err != nil {
		return "", err
	}
	options, err := place.Options(idsource.Options{Stdin: i.stdin, Expand: func(url string) (string, error) { return config.Expand(url, i.environ) }})
	if err != nil {
		return "", err
	}
	source, err := idsource.Open(ctx, place.Name, options)
	if err != nil {
		return "", unavailable(err)
	}
	defer i.closing("close "+source.Name()+": ", source.Close)
	items := make([]idsource.Item, 4096)
	for {
		n, err := source.Read(ctx, items)
		for _, item := range items[:n] {
			if err := see(item.ID); err != nil {
				return "", fmt.Errorf("%s: %s: %w", source.Name(), source.Place(item.At), err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return source.Name(), nil
		case err != nil:
			return "", unavailable(err)
		}
	}
}

// counters finds each counter that is gone, or would give a number again.
func (i *givenOut) counters(ctx context.Context, at *site, found func(roster.Finding) error) error {
	for _, text := range i.numbers {
		name, last, _ := strings.Cut(text, "=")
		wrong := func(limit string) error {
			return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("last-number %q: %s", text, limit))
		}
		if name == "" || last == "" {
			return wrong("must be NAME=NUMBER, or of a daily sequence NAME=DATE:NUMBER or NAME=TEXT")
		}
		behind := ""
		c, err := counter.Show(ctx, at.roster.Store, at.roster.Namespace, name)
		switch g, configured := at.settings.Generators[name]; {
		case errors.Is(err, store.ErrNotFound) && configured && !slices.Contains([]string{"segment", "ticket", "daily"}, g.Kind):
			return wrong(fmt.Sprintf("generator %s is of kind %s, without a counter in the store, so it can't be compared: see docs/restoring.md", name, g.Kind))
		case errors.Is(err, store.ErrNotFound):
			behind = fmt.Sprintf("counter %s gave %s, and its record is gone: see docs/restoring.md", name, last)
		case err != nil:
			return unavailable(err)
		default:
			date, greatest, ok := given(c, last)
			if !ok {
				return wrong(fmt.Sprintf("must be a number, or for a daily sequence DATE:NUMBER or a whole text: counter %s is a %s", name, c.Kind))
			}
			if again(c, date, greatest) {
				behind = fmt.Sprintf("counter %s gave %s, and the store would give it again: run 'snowfence counters set %s %d", name, last, name, greatest+1)
				if date != "" {
					behind += " --date " + date
				}
				behind += "'"
			}
		}
		if behind == "" {
			continue
		}
		if err := found(roster.Finding{Severity: roster.Fault, Check: roster.CheckIssued, Key: "counter/" + at.roster.Namespace + "/" + name, Text: behind}); err != nil {
			return err
		}
	}
	return nil
}

// given reads a number of a counter. That of a daily sequence is DATE:NUMBER, or a text that ends in both.
func given(c counter.Info, last string) (date string, number int64, ok bool) {
	digits := last
	if c.Digits > 0 {
		isDate := func(s string) bool { _, err := time.Parse("20060102", s); return err == nil }
		date, digits, _ = strings.Cut(last, ":")
		if at := len(last) - c.Digits; !isDate(date) && at >= 8 {
			date, digits = last[at-8:at], last[at:]
		}
		if !isDate(date) {
			return "", 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return date, int64(n), err == nil
}

// again reports whether a counter would give a number again. A date that is too old to be begun is none.
func again(c counter.Info, date string, number int64) bool {
	for _, lane := range c.Lanes {
		if lane.Name == date {
			return lane.Next <= number
		}
	}
	_, err := c.Raised(date, number)
	return !errors.As(err, new(*counter.DateError))
}

// pages returns the pages in the journals of this host, by their folders, and changes nothing there.
func pages(settings config.Config) (map[string][][]byte, error) {
	kept := map[string][][]byte{}
	if settings.Data == "" {
		return kept, nil
	}
	folders, err := os.ReadDir(settings.Journals())
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	for _, folder := range folders {
		path := filepath.Join(settings.Journals(), folder.Name())
		var wrong error
		kept[path], wrong = journal.Peek(path)
		err = errors.Join(err, wrong)
	}
	return kept, err
}

// recall finds each worker id that is behind a journal's page, and returns how many pages were compared.
func recall(ctx context.Context, r *roster.Roster, kept map[string][][]byte, found func(roster.Finding) error) (compared int64, err error) {
	for folder, pages := range kept {
		n, behind, err := compareAll(ctx, r, pages)
		if err == nil && len(behind) > 0 { // or its holder has discarded its page since, and released
			if pages, err = journal.Peek(folder); err == nil {
				n, behind, err = compareAll(ctx, r, pages)
			}
		}
		if err != nil {
			return compared, unavailable(err)
		}
		compared += n
		for _, f := range behind {
			f.Text = folder + ": " + f.Text
			if err := found(f); err != nil {
				return compared, err
			}
		}
	}
	return compared, nil
}

// compareAll compares some pages, and returns how many are of the namespace.
func compareAll(ctx context.Context, r *roster.Roster, pages [][]byte) (compared int64, behind []roster.Finding, err error) {
	for _, page := range pages {
		found, ours, err := r.Compare(ctx, page)
		if err != nil {
			return compared, nil, err
		}
		if behind = append(behind, found...); ours {
			compared++
		}
	}
	return compared, behind, nil
}

// alone returns nil if counters alone are asked for, and nothing shows that the namespace had a record. It
// returns an error that says what there is otherwise.
func (i *givenOut) alone(ctx context.Context, at *site, kept map[string][][]byte) error {
	name, had := at.roster.Namespace, len(i.numbers) == 0 || len(i.ids)+len(i.places) > 0
	for _, pages := range kept {
		had = had || slices.ContainsFunc(pages, func(page []byte) bool { return roster.PageOf(name, page) })
	}
	all, err := roster.Namespaces(ctx, at.roster.Store, at.clock.Wall())
	if err != nil {
		return unavailable(err)
	}
	if had = had || slices.ContainsFunc(all, func(s roster.Summary) bool { return s.Name == name }); !had {
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
