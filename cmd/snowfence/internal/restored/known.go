package restored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// LastID is the place of the ids that were given by the flag itself.
const LastID = "--last-id"

// Known is what is known to have been given out. A store that is older was restored, and would give it again.
type Known struct {
	IDs     []snowfence.ID
	Places  []string // files and columns with ids, as package idsource names them
	Numbers []string // NAME=NUMBER, or of a daily sequence NAME=DATE:NUMBER or NAME=TEXT

	Where  string           // flags for the commands of remedies
	Source idsource.Options // how places are read

	// Compared is how many ids of this store's datacenters were compared.
	Compared uint64
	foreign  uint64 // ids of other datacenters
}

// older is what is found where the store is behind.
func older(key, format string, args ...any) roster.Finding {
	return roster.Finding{Severity: roster.Fault, Check: roster.CheckIssued, Key: key, Text: fmt.Sprintf(format, args...)}
}

// Compare finds each worker id that is behind the ids that were given out.
func (k *Known) Compare(ctx context.Context, r *roster.Roster) (found []roster.Finding, err error) {
	places := k.Places
	if len(k.IDs) > 0 {
		places = append([]string{LastID}, places...)
	}
	if len(places) > 0 && r.Layout().Wide {
		return nil, snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %s has a wide layout: its ids can't be compared, only journals and counters", r.Name()))
	}
	latest := map[int64]snowfence.Parts{} // by worker number
	for _, place := range places {
		name, newest, err := k.newest(ctx, place, r)
		if err != nil {
			return nil, err
		}
		last := slices.MaxFunc(slices.Collect(maps.Values(newest)), func(a, b snowfence.Parts) int { return cmp.Compare(a.Tick, b.Tick) })
		if last.Tick < r.Begun() {
			found = append(found, older(name, "its newest id is of %s, before the namespace was made: these are other numbers (of a counter: --last-number), "+
				"or the namespace was begun again: see docs/restoring.md", decode.FormatTime(r.Layout().TimeOf(last.Tick), r.Layout().Unit)))
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
			return nil, err
		}
		if w.Register.Until > parts.Tick {
			continue
		}
		id, err := r.Layout().Compose(parts)
		if err != nil {
			return nil, err
		}
		behind := older(w.Key, "id %d was given out at tick %d, and the store ends at %d: the store is older than its ids. Stop all holders, "+
			"and run 'snowfence workers import list --workers all --layout %s --last-id %d%s'", id, parts.Tick, w.Register.Until, r.Layout(), id, k.Where)
		behind.Workers = []int64{number}
		found = append(found, behind)
	}
	if k.foreign > 0 {
		said := fmt.Sprintf("%s of other datacenters than %v, which this store has: compare %s with the other store",
			text.Count(k.foreign, "id"), r.Record().Datacenters, text.Plural(k.foreign, "it", "them"))
		found = append(found, roster.Finding{Severity: roster.Note, Check: roster.CheckIssued, Key: r.Name(), Text: said})
	}
	return found, nil
}

// newest returns the greatest tick of each worker id in a place, and how the place is named. It refuses a place without ids
// of this store, and one whose ids look rounded.
func (k *Known) newest(ctx context.Context, place string, r *roster.Roster) (name string, newest map[int64]snowfence.Parts, err error) {
	newest = map[int64]snowfence.Parts{}
	l, rounding := r.Layout(), idsource.Rounding{}
	see := func(id snowfence.ID) error {
		rounding.Add([]idsource.Item{{ID: id}})
		parts, err := l.Decompose(id)
		number := parts.Datacenter<<l.Bits(snowfence.Worker) | parts.Worker
		switch before, ok := newest[number]; {
		case err != nil:
			return err
		case !r.Own(number):
			k.foreign++
			return nil
		case !ok || parts.Tick > before.Tick:
			newest[number] = parts
		}
		k.Compared++
		return nil
	}
	if place != LastID {
		name, err = k.read(ctx, place, see)
	} else {
		name = place
		for _, id := range k.IDs {
			err = errors.Join(err, see(id))
		}
	}
	switch evidence := rounding.Text(); {
	case err != nil:
	case evidence != "":
		err = snowfence.NewError(snowfence.ClassInvalidID, name+": "+evidence+": rounded ids have other worker ids: export the column as text from where the ids were made")
	case len(newest) == 0:
		err = snowfence.NewError(snowfence.ClassInvalidID, name+": no ids of this store were read, so nothing is known of it")
	}
	return name, newest, err
}

// read reads every id of a place, and returns how the place is named.
func (k *Known) read(ctx context.Context, text string, see func(snowfence.ID) error) (name string, err error) {
	place, err := idsource.ParsePlace(text)
	if err != nil {
		return "", err
	}
	options, err := place.Options(k.Source)
	if err != nil {
		return "", err
	}
	source, err := idsource.Open(ctx, place.Name, options)
	if err != nil {
		return "", err
	}
	defer func() { _ = source.Close() }() // its ids are read, or its error is known
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
			return "", err
		}
	}
}
