package counter

import (
	"context"
	"fmt"
	"iter"
	"math"
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
// above it of the counter's increment. Of a daily sequence date names the count that is meant: of a date
// that the store does not hold it is begun, by the rules of [Daily]. The number may lie above the
// limit, which is that of the process that wrote last. Where it does, the counter is full for that process.
// If the counter is there already it stays: a process that runs may still give back numbers below.
//
// A *[ConfigError] is returned for a number that is below the counter's next: some of them are in use.
// It is returned, too, for one that no limit reaches. A *[DateError] is returned for a date that the
// store has forgotten.
func (i Info) Raised(date string, next int64) (Info, error) {
	end := math.MaxInt64 - i.Increment + 1 // one past the greatest limit
	switch _, err := time.Parse(stored.DateForm, date); {
	case i.Kind != stored.Daily && date != "":
		return i, stored.Refuse("date", date, fmt.Sprintf("must not be given: counter %s has no dates", i.Name))
	case i.Kind == stored.Daily && err != nil:
		return i, stored.Refuse("date", date, fmt.Sprintf("must be like 20261122: counter %s counts by date", i.Name))
	case i.Kind == stored.Daily:
		end = int64(math.Pow10(i.Digits))
	}
	record := i.record
	record.Lanes = slices.Clone(record.Lanes)
	at, err := enter(&record, i.Name, date)
	if err != nil {
		return i, err
	}
	lane := &record.Lanes[at]
	switch {
	case next < lane.Next:
		return i, stored.Refuse("next", next, fmt.Sprintf("must be at least %d, the next number of counter %s: a counter never goes back", lane.Next, i.Name))
	case next > max(end, lane.Next):
		return i, stored.Refuse("next", next, fmt.Sprintf("must be at most %d: counter %s has no numbers from there on, whatever its limit", end, i.Name))
	}
	if over := (next - i.Start) % i.Increment; over > 0 {
		next += i.Increment - over
	}
	lane.Next = next
	i.record, i.Lanes = record, record.Lanes
	return i, nil
}

// Operator is who sets a counter, and how the write becomes certain.
type Operator struct {
	Process  Process
	Clock    snowfence.Clock // nil means [snowfence.SystemClock]
	Patience Patience
}

// Patience is how a write on a lossy store becomes certain.
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
// *[UncertainError]: each process begins to count after its Until, and it has to be set again then.
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
		c.Lanes = i.record.Lanes
		err := r.enlist(c)
		sent = sent || err == nil
		return err
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
