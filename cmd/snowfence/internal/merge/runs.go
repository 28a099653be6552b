package merge

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

const (
	// maxRuns is how many runs are kept. When there are more, the gap below which two
	// become one is doubled until half of them are left, or all that can't be joined.
	maxRuns = 1 << 16

	// firstGap is the gap at first, where a layout is known: ids of a worker that
	// are less than that apart are of one run. Without a layout it is 1: ids that
	// follow one another.
	firstGap = time.Minute

	// maxKeys is how many worker ids are told apart, each with each combination of
	// sides. Those beyond go into one run.
	maxKeys = 1 << 14
)

// NoWorker stands for a run that is of no one worker id.
const NoWorker int64 = -1

// Run is clashing ids that lie close together.
type Run struct {
	// Worker is their worker number, or [NoWorker].
	Worker int64
	// Sides has a bit for each side that has any of them.
	Sides uint64
	// First and Last are the lowest and the highest of them, IDs how many there are.
	First, Last snowfence.ID
	IDs         uint64
	// From and To are the times of the first and the last, zero without a layout.
	From, To time.Time
}

// On reports whether a side has any of the ids.
func (r Run) On(side int) bool { return r.Sides>>side&1 != 0 }

// Count returns how many sides have any of them.
func (r Run) Count() int { return bits.OnesCount64(r.Sides) }

// Runs are the runs of clashing ids as one layout reads them.
type Runs struct {
	// Layout is that layout; nil where none is known.
	Layout *snowfence.Layout
	// Gap is the gap that two runs of a worker id have at least; zero without a
	// layout. Apart is the same in numbers, without a layout.
	Gap   time.Duration
	Apart uint64
	// List are those with the most ids, in ascending order of their first; All is how
	// many there are.
	List []Run
	All  int
	// Outside is how many clashing ids are none of the layout.
	Outside uint64
}

// runKey tells runs apart that are never joined.
type runKey struct {
	worker int64
	sides  uint64
}

// span is a run whose ends are positions: ticks, or numbers.
type span struct {
	Run
	from, to uint64
}

// runs collects runs. The gap grows with their number, so that memory does not.
type runs struct {
	layout   *snowfence.Layout
	splitter overlap.Splitter
	gap      uint64 // least distance of positions of two runs
	open     map[runKey]*span
	closed   []span
	outside  uint64
}

func newRuns(l *snowfence.Layout) *runs {
	r := &runs{layout: l, gap: 2, open: map[runKey]*span{}}
	if l != nil {
		r.splitter = overlap.NewSplitter(*l)
		r.gap = uint64(max(firstGap/l.Unit, 1)) + 1
	}
	return r
}

// add takes the next clashing id, in ascending order. So the positions of one
// worker id ascend too.
func (r *runs) add(id snowfence.ID, sides uint64) {
	at, worker := uint64(id), NoWorker
	if r.layout != nil {
		tick, number, ok := r.splitter.Split(id)
		if !ok {
			r.outside++
			return
		}
		at, worker = uint64(tick), number
	}
	key := runKey{worker, sides}
	s := r.open[key]
	switch {
	case s != nil && at-s.to < r.gap:
	case s == nil && len(r.open) >= maxKeys:
		// Too many to be told apart: what is left goes into one for all. It is open
		// under a key that no worker id has.
		key = runKey{NoWorker, 0}
		if s = r.open[key]; s == nil {
			s = &span{Run: Run{Worker: NoWorker, First: id}, from: at}
			r.open[key] = s
		}
		s.from = min(s.from, at)
		s.Sides |= sides
	default:
		if s != nil {
			r.closed = append(r.closed, *s)
			if len(r.closed) >= maxRuns {
				r.widen()
			}
		}
		s = &span{Run: Run{Worker: worker, Sides: sides, First: id}, from: at}
		r.open[key] = s
	}
	s.IDs++
	s.Last, s.to = id, max(s.to, at)
}

// widen doubles the gap until half of the runs are joined, or one is left of each
// worker id.
func (r *runs) widen() {
	for len(r.closed) > maxRuns/2 && r.gap < 1<<62 {
		r.gap *= 2
		r.join()
	}
}

// join makes one of those that lie closer together than the gap.
func (r *runs) join() {
	slices.SortFunc(r.closed, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Sides, b.Sides), cmp.Compare(a.from, b.from))
	})
	joined := r.closed[:min(len(r.closed), 1)]
	for _, s := range r.closed[len(joined):] {
		last := &joined[len(joined)-1]
		if last.Worker == s.Worker && last.Sides == s.Sides && s.from-last.to < r.gap {
			last.to, last.Last = s.to, s.Last
			last.IDs += s.IDs
			continue
		}
		joined = append(joined, s)
	}
	r.closed = joined
}

// end closes what is open.
func (r *runs) end() {
	for _, s := range r.open {
		r.closed = append(r.closed, *s)
	}
	clear(r.open)
	r.join()
}

// list is the runs with the most ids.
func (r *runs) list(shown int) Runs {
	all := slices.Clone(r.closed)
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(b.IDs, a.IDs), cmp.Compare(uint64(a.First), uint64(b.First)))
	})
	list := Runs{Layout: r.layout, All: len(all), Outside: r.outside}
	all = all[:min(len(all), shown)]
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(uint64(a.First), uint64(b.First)), cmp.Compare(a.Worker, b.Worker))
	})
	if r.layout == nil {
		list.Apart = r.gap
	} else {
		list.Gap = time.Duration(min(r.gap-1, uint64((1<<62)/r.layout.Unit))) * r.layout.Unit
	}
	for _, s := range all {
		if r.layout != nil {
			s.From, s.To = r.layout.TimeOf(snowfence.Tick(s.from)), r.layout.TimeOf(snowfence.Tick(s.to))
		}
		list.List = append(list.List, s.Run)
	}
	return list
}
