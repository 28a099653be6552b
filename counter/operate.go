package counter

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Info is a counter as its store has it, for operators.
type Info struct {
	Namespace, Name, Kind   string
	Start, Increment, Limit int64
	Zone                    string // of a daily sequence
	Digits                  int
	Lanes                   []Lane
	Created, Written        time.Time // by the clocks of the first and of the last writer
	Process                 Process   // the last writer

	version store.Version
	record  stored.Counter
}

// Lane is one count of a counter: the only one, or that of a date.
type Lane = stored.Lane

// List yields the counters of a namespace, ascending by name. One that can't be read is yielded
// with its name and the error.
func List(ctx context.Context, s store.Store, namespace string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		var entries []store.Entry
		for entry, err := range s.List(ctx, stored.CounterPrefix(namespace)) {
			if err != nil {
				yield(Info{}, fmt.Errorf("list counters: %w", err))
				return
			}
			entries = append(entries, entry)
		}
		slices.SortFunc(entries, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
		for _, entry := range entries {
			if !yield(read(namespace, strings.TrimPrefix(entry.Key, stored.CounterPrefix(namespace)), entry)) {
				return
			}
		}
	}
}

// Show returns one counter. [store.ErrNotFound] is returned if there is none of that name.
func Show(ctx context.Context, s store.Store, namespace, name string) (Info, error) {
	entry, err := s.Get(ctx, stored.CounterPrefix(namespace)+name)
	if err != nil {
		return Info{}, fmt.Errorf("counter %s: %w", name, err)
	}
	return read(namespace, name, entry)
}

func read(namespace, name string, entry store.Entry) (Info, error) {
	c, err := stored.DecodeCounter(entry.Value)
	if err != nil {
		return Info{Namespace: namespace, Name: name}, fmt.Errorf("counter %s: %w", name, err)
	}
	return infoOf(namespace, name, entry.Version, c), nil
}

func infoOf(namespace, name string, version store.Version, c stored.Counter) Info {
	return Info{
		Namespace: namespace, Name: name, Kind: c.Kind, Start: c.Start, Increment: c.Increment, Limit: c.Limit, Zone: c.Zone,
		Digits: c.Digits, Lanes: c.Lanes, Created: c.Created, Written: c.Clock, Process: c.Process, version: version, record: c,
	}
}

// Raised returns the counter as [Set] would write it: its next number is next, or the first one
// above it of the counter's increment. Of a daily sequence date says which count is meant. A count
// that is missing is begun; a *[DateError] is returned for a date that is too old. A *[ConfigError] is
// returned for a number that is below the counter's next: some of those are in use.
func (i Info) Raised(date string, next int64) (Info, error) {
	i.record.Lanes = slices.Clone(i.record.Lanes)
	at, ok := i.record.Lane(date)
	if _, wrong := time.Parse(stored.DateForm, date); i.Kind == stored.Daily && wrong == nil {
		var err error
		if at, err = (&register{Config: Config{Name: i.Name, Start: i.Start}}).enter(&i.record, date); err != nil {
			return i, err
		}
	} else if !ok {
		limit := fmt.Sprintf("must not be given: counter %s has no dates", i.Name)
		if i.Kind == stored.Daily {
			limit = fmt.Sprintf("must be a date such as 20261122: counter %s has one count for each", i.Name)
		}
		return i, refuse("date", date, limit)
	}
	i.Lanes = i.record.Lanes
	if now := i.Lanes[at].Next; next < now {
		return i, refuse("next", next, fmt.Sprintf("must be at least %d, the next number of counter %s: a counter never goes back", now, i.Name))
	}
	if next > i.Limit {
		return i, refuse("next", next, fmt.Sprintf("must be at most the limit of counter %s, %d", i.Name, i.Limit))
	}
	i.Lanes[at].Next = i.Start + (next-i.Start+i.Increment-1)/i.Increment*i.Increment
	return i, nil
}

// Operator says who sets a counter, and how the write becomes certain.
type Operator struct {
	Process  Process
	Clock    snowfence.Clock // nil means [snowfence.SystemClock]
	Patience Patience
}

// Patience says how a write on a lossy store becomes certain.
type Patience = drive.Patience

// UncertainError is returned by [Set] when a failover of the store may have taken the write back,
// or still may.
type UncertainError = drive.UncertainError

// patient is how long Set tries to reach the store, for its write and again to confirm it.
const patient = 10 * time.Second

// Set writes a counter that [Info.Raised] returned, if it is still the one that was read. Its
// processes go on above. [store.ErrConflict] is returned if another process has written it.
//
// On a lossy store Set waits until the store can't lose the write any more, and confirms it by
// another write, as a reservation is. If that fails, or the operator does not wait, it returns an
// *[UncertainError]: no process may begin to count before its Until, and it has to be set again then.
func Set(ctx context.Context, s store.Store, i Info, by Operator) (Info, error) {
	r, err := open(ctx, Config{
		Store: s, Namespace: i.Namespace, Name: i.Name, Start: i.Start, Increment: i.Increment, Limit: i.Limit,
		MaxWait: 2 * patient, RequestTimeout: patient, Process: by.Process, Clock: by.Clock, zone: i.Zone, digits: i.Digits,
	}, i.Kind)
	if err != nil {
		return i, err
	}
	changed, sent := false, false
	w, err := r.write(ctx, func(c *stored.Counter) error {
		if changed = r.version != i.version; changed {
			return store.ErrConflict
		}
		sent = true
		c.Lanes = i.record.Lanes
		return nil
	})
	switch {
	case err == nil:
	case changed && !sent:
		return i, fmt.Errorf("counter %s: another process has written it meanwhile, and nothing was changed: read it again: %w", i.Name, err)
	case changed:
		return i, fmt.Errorf("counter %s: another process has written it meanwhile: read it again: %w", i.Name, err)
	case sent:
		return i, fmt.Errorf("counter %s: the outcome is unknown: read it again: %w", i.Name, err)
	default:
		return i, err
	}
	i = infoOf(i.Namespace, i.Name, r.version, r.record)
	if r.loss == 0 {
		return i, nil
	}
	return i, by.Patience.Confirm(ctx, r.Clock, "counter "+i.Name, w.acked+r.loss, func(ctx context.Context) error {
		return r.confirm(ctx, w)
	})
}
