package takeover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/text"
)

const (
	// DefaultMargin is the default policy's max-rollback: the greatest margin that
	// keeps no claim waiting.
	DefaultMargin = 5 * time.Second

	// MaxMargin is the longest margin: a floor is never lowered, so a mistake keeps
	// worker ids from being claimed for as long.
	MaxMargin = time.Hour

	// DefaultAhead is how far ahead of the clock a floor may lie unless more is
	// allowed: what a clock may be off by; see package fence.
	DefaultAhead = 10 * time.Minute

	// MaxWorkers is the most worker ids of one take-over.
	MaxWorkers = 1 << 20

	// shown is how many worker ids an error names.
	shown = 8
)

var (
	// ErrRunning is wrapped by a *[RunningError].
	ErrRunning = snowfence.NewError(snowfence.ClassLease, "snowfence: the old system still runs")

	// ErrNoBound is returned when neither the time of the stop nor a last id is
	// given.
	ErrNoBound = errors.New("snowfence: neither the time at which the old system was stopped nor its last id is given: nothing says up to when it issued ids")

	// ErrNoWorkers is returned when no worker id of the old system is known.
	ErrNoWorkers = errors.New("snowfence: no worker id of the old system is known: name them, or take all")
)

// Sighting is a worker id of the old system, as it was seen somewhere.
type Sighting struct {
	// Worker is the worker number: datacenter times 2 to the number of worker
	// bits, plus worker id.
	Worker int64
	// Where is where it was seen, for people: a path, "static list".
	Where string
	// Last is the latest timestamp that the old system kept of it; zero if none.
	Last time.Time
	// Alive says why its process must still be running; empty if nothing shows that.
	Alive string
}

// String says where a live process was seen.
func (s Sighting) String() string {
	return fmt.Sprintf("worker %d, %s: %s", s.Worker, s.Where, s.Alive)
}

// Facts are what is known of the old system.
type Facts struct {
	// Layout is that of the old system's ids, and of the namespace.
	Layout snowfence.Layout

	// Sightings are the worker ids that it had. A worker id may be there twice.
	Sightings []Sighting

	// All takes all worker ids of the layout, or of Datacenter if that is not nil.
	All        bool
	Datacenter *int64

	// StoppedAt is when the old system was stopped, all of it. Zero means that
	// nobody knows, and then LastIDs must be given.
	StoppedAt time.Time

	// LastIDs are the greatest ids that were found: of the whole system, or of each
	// worker id.
	LastIDs []snowfence.ID

	// Margin is added to the latest time of all; see the package's comment. Zero
	// means none.
	Margin time.Duration

	// Ahead is how far ahead of Now the floor may lie, before the margin. A later
	// timestamp or id is taken for a mistake, because a floor is never lowered.
	Ahead time.Duration

	// Now is the present time.
	Now time.Time
}

// Reckoning is what follows from the facts.
type Reckoning struct {
	Layout snowfence.Layout
	// Floor is the first tick that is free of the old system's ids, whatever the
	// worker id.
	Floor snowfence.Tick
	// Because says which fact the floor comes from.
	Because string
	// Shares are the worker ids, in ascending order, each once.
	Shares []Share
	// Left are sightings that are none of the layout's worker ids. No id can have
	// been issued with one.
	Left []Sighting
}

// Share is one worker id of the old system.
type Share struct {
	Worker int64
	// Evidence says where it was seen and what is known of it, for people.
	Evidence string
}

// RunningError is returned when the old system was seen to be running.
type RunningError struct{ Alive []Sighting }

// Error names the worker ids that are alive, and why that is known.
func (e *RunningError) Error() string {
	return fmt.Sprintf("%v: %s", ErrRunning, text.List(e.Alive, shown))
}

// Unwrap returns [ErrRunning].
func (e *RunningError) Unwrap() error { return ErrRunning }

// FactError is returned for facts that contradict each other or the layout.
type FactError struct {
	Field string // "stopped-at", "last-id", "timestamp", "margin", "worker", "datacenter"
	Value string
	Limit string
	// Cause is the error below, or nil: for a last id it is
	// [snowfence.ErrInvalidID].
	Cause error
}

// Error names the fact, its value and the limit.
func (e *FactError) Error() string {
	return fmt.Sprintf("snowfence: take over: %s is %s: %s", e.Field, e.Value, e.Limit)
}

// Unwrap returns the cause.
func (e *FactError) Unwrap() error { return e.Cause }

// Reckon finds the floor above everything that the old system can have issued,
// and the worker ids that need it. It is a function of the facts alone.
//
// A *[RunningError] is returned if anything shows that the old system runs,
// [ErrNoBound] without a time of the stop and a last id, [ErrNoWorkers] without
// any worker id, a *[FactError] for facts that can't be, and a
// *[snowfence.LayoutError] for a layout that is not valid.
func Reckon(f Facts) (Reckoning, error) {
	if err := f.Layout.Validate(); err != nil {
		return Reckoning{}, err
	}
	var alive []Sighting
	for _, s := range f.Sightings {
		if s.Alive != "" {
			alive = append(alive, s)
		}
	}
	if len(alive) > 0 {
		return Reckoning{}, &RunningError{alive}
	}
	if f.StoppedAt.IsZero() && len(f.LastIDs) == 0 {
		return Reckoning{}, ErrNoBound
	}
	r := Reckoning{Layout: f.Layout}
	err := r.share(f)
	if err == nil {
		err = r.bound(f)
	}
	if err != nil {
		return Reckoning{}, err
	}
	return r, nil
}

// share collects the worker ids.
func (r *Reckoning) share(f Facts) error {
	seen := map[int64][]Sighting{}
	for _, s := range f.Sightings {
		if _, _, err := f.Layout.SplitWorker(s.Worker); err != nil {
			r.Left = append(r.Left, s)
			continue
		}
		seen[s.Worker] = append(seen[s.Worker], s)
	}
	if f.All {
		first, n := int64(0), f.Layout.Workers()
		if f.Datacenter != nil {
			var err error
			if first, err = f.Layout.WorkerNumber(*f.Datacenter, 0); err != nil {
				return &FactError{"datacenter", fmt.Sprint(*f.Datacenter), "is none of the layout " + f.Layout.String(), err}
			}
			n = 1 << f.Layout.Bits(snowfence.Worker)
		}
		if n > MaxWorkers {
			return &FactError{"worker", "all", fmt.Sprintf("that makes %d, and %d is the most: name those that the old system had", n, MaxWorkers), nil}
		}
		for w := first; w < first+n; w++ {
			if seen[w] == nil {
				seen[w] = []Sighting{{Worker: w, Where: "all worker ids"}}
			}
		}
	}
	if len(seen) == 0 {
		return ErrNoWorkers
	}
	for w, sightings := range seen {
		r.Shares = append(r.Shares, Share{w, evidence(sightings)})
	}
	slices.SortFunc(r.Shares, func(a, b Share) int { return cmp.Compare(a.Worker, b.Worker) })
	return nil
}

// evidence says what is known of one worker id.
func evidence(sightings []Sighting) string {
	var parts []string
	for _, s := range sightings {
		part := s.Where
		if !s.Last.IsZero() {
			part += ", last " + instant(s.Last)
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// bound finds the floor.
func (r *Reckoning) bound(f Facts) error {
	if f.Margin < 0 || f.Margin > MaxMargin {
		return &FactError{"margin", f.Margin.String(), "must be from 0s to " + MaxMargin.String(), nil}
	}
	latest := f.Layout.Epoch.Add(-1)
	consider := func(t time.Time, because string) {
		if r.Because == "" || t.After(latest) {
			latest, r.Because = t, because
		}
	}
	if at := f.StoppedAt; !at.IsZero() {
		switch {
		case at.After(f.Now):
			return &FactError{"stopped-at", instant(at), fmt.Sprintf("it is %s now: the old system must be stopped first", instant(f.Now)), nil}
		case f.Layout.TickAt(at) < 0:
			return &FactError{"stopped-at", instant(at), fmt.Sprintf("it lies before the epoch of the layout %s: is it the old system's?", f.Layout), nil}
		}
		consider(at, "stopped at "+instant(at))
	}
	limit := f.Now.Add(f.Ahead)
	for _, id := range f.LastIDs {
		at, err := r.last(id)
		if err != nil {
			return err
		}
		if at.After(limit) {
			return &FactError{"last-id", id.String(), fmt.Sprintf("with the layout %s it is of %s, which is still to come by more than %s: the layout is another one's, or the old system's clock was ahead", f.Layout, instant(at), f.Ahead), snowfence.ErrInvalidID}
		}
		consider(at, "last id "+id.String())
	}
	for _, s := range f.Sightings {
		if s.Last.IsZero() {
			continue
		}
		if s.Last.After(limit) {
			return &FactError{"timestamp", instant(s.Last), fmt.Sprintf("%s, worker %d: it is still to come by more than %s: a clock of the old system was ahead", s.Where, s.Worker, f.Ahead), nil}
		}
		consider(s.Last, fmt.Sprintf("the timestamp of worker %d, %s", s.Worker, s.Where))
	}
	// The tick of the latest time is used; the one after it is free.
	r.Floor = f.Layout.TickAt(latest.Add(f.Margin)) + 1
	if r.Floor >= f.Layout.HorizonTick() {
		return fmt.Errorf("take over: the floor would be tick %d of the layout %s: %w", r.Floor, f.Layout, snowfence.ErrPastHorizon)
	}
	return nil
}

// last returns the instant at which the tick of a last id ends.
func (r *Reckoning) last(id snowfence.ID) (time.Time, error) {
	parts, err := r.Layout.Decompose(id)
	if err != nil {
		return time.Time{}, &FactError{"last-id", id.String(), "is no id of the layout " + r.Layout.String(), err}
	}
	worker := parts.Datacenter<<r.Layout.Bits(snowfence.Worker) | parts.Worker
	_, known := slices.BinarySearchFunc(r.Shares, worker, func(s Share, w int64) int { return cmp.Compare(s.Worker, w) })
	if !known {
		return time.Time{}, &FactError{"last-id", id.String(), fmt.Sprintf("with the layout %s it is of worker %d, which is none of the old system's: the layout is another one's, or worker ids are missing", r.Layout, worker), snowfence.ErrInvalidID}
	}
	// Its whole tick counts, so that the floor without margin is the next.
	return r.Layout.TimeOf(parts.Tick + 1).Add(-1), nil
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
