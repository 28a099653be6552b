package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

const (
	// DefaultMargin is the default max-rollback: claims wait only above it.
	DefaultMargin = 5 * time.Second

	// MaxMargin is the longest margin: floors only rise, so a mistake keeps
	// worker ids from being claimed for as long.
	MaxMargin = time.Hour

	// DefaultAhead is how far ahead of the clock a floor may lie unless more is
	// allowed: the most that a clock may be off; see package fence.
	DefaultAhead = 10 * time.Minute

	// MaxWorkers is the most worker ids of one take-over.
	MaxWorkers = 1 << 20

	// shown is how many worker ids an error names.
	shown = 8
)

var (
	// ErrRunning is returned, with live worker ids, when the old system seems to run.
	ErrRunning = snowfence.NewError(snowfence.ClassLease, "snowfence: the old system still runs")

	// ErrNoWorkers is returned when the worker ids of the old system are unknown.
	ErrNoWorkers = snowfence.NewError(snowfence.ClassUsage, "snowfence: no worker id of the old system is known: name them, or take all")
)

// Sighting is a worker id of the old system, as it was seen somewhere.
type Sighting struct {
	Worker int64     // the worker number, in which the datacenter stands above the worker id
	Where  string    // a path, or "--workers"
	Last   time.Time // the latest timestamp that the old system kept of it; zero if none
	Alive  string    // why its process must still be running; empty if nothing shows that
}

// String describes where a live process was seen.
func (s Sighting) String() string {
	return fmt.Sprintf("worker %d, %s: %s", s.Worker, s.Where, s.Alive)
}

// Facts describe the old system, as [Old.Validate] accepts it.
type Facts struct {
	Layout    snowfence.Layout // of the old system's ids, and of the namespace
	Sightings []Sighting       // the worker ids that it had; one may be there twice

	// All takes all worker ids of the layout, or of Datacenter if that is not nil.
	All        bool
	Datacenter *int64

	StoppedAt time.Time      // when all of it was stopped; without it LastIDs must be given
	LastIDs   []snowfence.ID // the greatest known ids of the whole system, or of each worker id

	Margin time.Duration // added to the latest time; see the package's comment
	// Ahead is how far ahead of Now the floor may lie, before the margin. A later
	// timestamp or id is taken for a mistake, because floors only rise.
	Ahead time.Duration
	Now   time.Time
}

// wrong is the error about a fact that contradicts another fact or the layout.
func wrong(field, value, limit string, args ...any) error {
	class := snowfence.ClassUsage
	if field == "last-id" {
		class = snowfence.ClassInvalidID
	}
	return snowfence.NewError(class, "snowfence: take over: "+field+" is "+value+": "+fmt.Sprintf(limit, args...))
}

// NewPlan finds the floor above everything that the old system can have issued, and the
// worker ids that need it, for a namespace that does not exist yet: all steps are
// [Create].
//
// It returns [ErrRunning] if anything shows that the old system runs, [ErrNoWorkers]
// without any worker id, a *[snowfence.LayoutError], and an error of class usage or invalid
// id for facts that contradict each other or the layout.
func NewPlan(f Facts) (Plan, error) {
	p := Plan{Layout: f.Layout}
	if err := f.Layout.Validate(); err != nil {
		return p, err
	}
	alive := slices.DeleteFunc(slices.Clone(f.Sightings), func(s Sighting) bool { return s.Alive == "" })
	if len(alive) > 0 {
		return p, fmt.Errorf("%w: %s", ErrRunning, text.List(alive, shown))
	}
	if err := p.share(f); err != nil {
		return p, err
	}
	return p, p.bound(f)
}

// share collects the worker ids, with the evidence for each.
func (p *Plan) share(f Facts) error {
	seen := map[int64][]string{}
	for _, s := range f.Sightings {
		if _, _, err := f.Layout.SplitWorker(s.Worker); err != nil {
			continue // ids can't hold this worker id
		}
		evidence := s.Where
		if !s.Last.IsZero() {
			evidence += ", last " + instant(s.Last)
		}
		if !slices.Contains(seen[s.Worker], evidence) {
			seen[s.Worker] = append(seen[s.Worker], evidence)
		}
	}
	if f.All {
		first, n := int64(0), f.Layout.Workers()
		if f.Datacenter != nil {
			var err error
			if first, err = f.Layout.WorkerNumber(*f.Datacenter, 0); err != nil {
				return wrong("datacenter", fmt.Sprint(*f.Datacenter), "is none of the layout %s", f.Layout)
			}
			n = 1 << f.Layout.Bits(snowfence.Worker)
		}
		if n > MaxWorkers {
			return wrong("worker", "all", "that makes %d, and %d is the most: list the worker ids that the old system used", n, MaxWorkers)
		}
		for w := first; w < first+n; w++ {
			if seen[w] == nil {
				seen[w] = []string{"all worker ids"}
			}
		}
	}
	if len(seen) == 0 {
		return ErrNoWorkers
	}
	for w, evidence := range seen {
		p.Steps = append(p.Steps, Step{Worker: w, Evidence: strings.Join(evidence, "; "), Action: Create})
	}
	slices.SortFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.Worker, b.Worker) })
	return nil
}

// bound finds the floor.
func (p *Plan) bound(f Facts) error {
	latest := f.Layout.Epoch.Add(-1)
	consider := func(t time.Time, because string) {
		if p.Because == "" || t.After(latest) {
			latest, p.Because = t, because
		}
	}
	if at := f.StoppedAt; !at.IsZero() {
		switch {
		case at.After(f.Now):
			return wrong("stopped-at", instant(at), "it is %s now: the old system must be stopped first", instant(f.Now))
		case f.Layout.TickAt(at) < 0:
			return wrong("stopped-at", instant(at), "it lies before the epoch of the layout %s: is it the old system's?", f.Layout)
		}
		consider(at, "stopped at "+instant(at))
	}
	limit := f.Now.Add(f.Ahead)
	for _, id := range f.LastIDs {
		at, err := p.last(id)
		if err != nil {
			return err
		}
		if at.After(limit) {
			return wrong("last-id", id.String(), "with the layout %s it is of %s, which is still to come by more than %s: "+
				"the layout is another one's, or the old system's clock was ahead", f.Layout, instant(at), f.Ahead)
		}
		consider(at, "last id "+id.String())
	}
	for _, s := range f.Sightings {
		if s.Last.IsZero() {
			continue
		}
		if s.Last.After(limit) {
			return wrong("timestamp", instant(s.Last), "%s, worker %d: it is still to come by more than %s: "+
				"a clock of the old system was ahead", s.Where, s.Worker, f.Ahead)
		}
		consider(s.Last, fmt.Sprintf("the timestamp of worker %d, %s", s.Worker, s.Where))
	}
	// The tick of the latest time is used; the one after it is free.
	p.Floor = f.Layout.TickAt(latest.Add(f.Margin)) + 1
	if p.Floor >= f.Layout.HorizonTick() {
		return fmt.Errorf("take over: the floor would be tick %d of the layout %s: %w", p.Floor, f.Layout, snowfence.ErrPastHorizon)
	}
	return nil
}

// last returns the instant at which the tick of a last id ends.
func (p *Plan) last(id snowfence.ID) (time.Time, error) {
	parts, err := p.Layout.Decompose(id)
	if err != nil {
		return time.Time{}, wrong("last-id", id.String(), "is no id of the layout %s", p.Layout)
	}
	worker := parts.Datacenter<<p.Layout.Bits(snowfence.Worker) | parts.Worker
	if _, known := p.find(worker); !known {
		return time.Time{}, wrong("last-id", id.String(), "with the layout %s it is of worker %d, which is none of the old system's: "+
			"the layout is another one's, or worker ids are missing", p.Layout, worker)
	}
	// Its whole tick counts, so that the floor without margin is the next.
	return p.Layout.TimeOf(parts.Tick + 1).Add(-1), nil
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
