package merge

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

const (
	// maxRuns is how many runs are kept. When there are more, the gap below which two
	// become one is doubled until half of them are left, or none can be joined.
	maxRuns = 1 << 16

	// firstGap is the gap at first, where a layout is known: ids of one worker that
	// are less than that apart are of one run. Without a layout it is 1.
	firstGap = time.Minute

	// maxKeys is how many worker ids are counted apart, each with each combination of
	// sides. The others go into one run.
	maxKeys = 1 << 14
)

// Worker is the worker number of a run, or [NoWorker].
type Worker int64

// NoWorker stands for a run that is of no one worker id.
const NoWorker Worker = -1

// IsZero reports whether there is no one worker id; JSON then leaves it out.
func (w Worker) IsZero() bool { return w == NoWorker }

// String returns the number, or "several".
func (w Worker) String() string {
	if w.IsZero() {
		return "several"
	}
	return strconv.FormatInt(int64(w), 10)
}

// Run is clashing ids that lie close together.
type Run struct {
	Worker Worker `json:"worker,omitzero"`
	// Sides are the names of the sides that have any of them.
	Sides []string `json:"sides"`
	// First and Last are the lowest and the highest of them.
	First ID `json:"first"`
	Last  ID `json:"last"`
	// From and To are the times of the first and the last, zero without a layout.
	From Time `json:"from,omitzero"`
	To   Time `json:"to,omitzero"`
	// IDs is how many there are.
	IDs uint64 `json:"ids"`
}

// Runs are the runs of clashing ids as one layout reads them.
type Runs struct {
	// Layout is that layout; nil where none is known.
	Layout *snowfence.Layout `json:"layout,omitempty"`
	// Gap is the least gap between two runs of a worker id, in seconds; zero without a
	// layout. Apart is the same in numbers, without a layout.
	Gap   float64 `json:"gap_seconds,omitempty"`
	Apart uint64  `json:"gap_numbers,omitempty"`
	// All is how many there are, List those with the most ids, in order of their first.
	All int `json:"all"`
	// Outside is how many clashing ids are none of the layout.
	Outside uint64 `json:"ids_outside_layout"`
	List    []Run  `json:"list"`
}

// runKey is what joined runs have in common: worker number, and a bit for each side.
type runKey struct {
	worker Worker
	sides  uint64
}

// span is a run while it is collected. Its ends are positions: ticks, or numbers.
type span struct {
	runKey
	first, last snowfence.ID
	from, to    uint64
	ids         uint64
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

// add takes the next clashing id. They ascend, and so do positions of one worker id.
func (r *runs) add(id snowfence.ID, sides uint64) {
	at, worker := uint64(id), NoWorker
	if r.layout != nil {
		tick, number, ok := r.splitter.Split(id)
		if !ok {
			r.outside++
			return
		}
		at, worker = uint64(tick), Worker(number)
	}
	key := runKey{worker, sides}
	s := r.open[key]
	switch {
	case s != nil && at-s.to < r.gap:
	case s == nil && len(r.open) >= maxKeys:
		// One run for all others, under a key that no worker id has.
		key.worker, key.sides = NoWorker, 0
		if s = r.open[key]; s == nil {
			s = &span{runKey: key, first: id, from: at}
			r.open[key] = s
		}
		s.from = min(s.from, at)
		s.sides |= sides
	default:
		if s != nil {
			r.closed = append(r.closed, *s)
			if len(r.closed) >= maxRuns {
				r.widen()
			}
		}
		s = &span{runKey: key, first: id, from: at}
		r.open[key] = s
	}
	s.ids++
	s.last, s.to = id, max(s.to, at)
}

// widen doubles the gap until half of the runs are joined, or one of each worker id is left.
func (r *runs) widen() {
	for len(r.closed) > maxRuns/2 && r.gap < 1<<62 {
		r.gap *= 2
		r.join()
	}
}

// join makes one of those that lie closer together than the gap.
func (r *runs) join() {
	slices.SortFunc(r.closed, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.sides, b.sides), cmp.Compare(a.from, b.from))
	})
	joined := r.closed[:0]
	for _, s := range r.closed {
		if n := len(joined); n > 0 && joined[n-1].runKey == s.runKey && s.from-joined[n-1].to < r.gap {
			last := &joined[n-1]
			last.to, last.last = s.to, s.last
			last.ids += s.ids
		} else {
			joined = append(joined, s)
		}
	}
	r.closed = joined
}

// end closes the runs that are open, and returns those with the most ids.
func (r *runs) end(sides []string, shown int) Runs {
	for _, s := range r.open {
		r.closed = append(r.closed, *s)
	}
	r.join()
	list := Runs{Layout: r.layout, All: len(r.closed), Outside: r.outside, List: []Run{}}
	slices.SortFunc(r.closed, func(a, b span) int {
		return cmp.Or(cmp.Compare(b.ids, a.ids), cmp.Compare(uint64(a.first), uint64(b.first)))
	})
	most := r.closed[:min(len(r.closed), shown)]
	slices.SortFunc(most, func(a, b span) int {
		return cmp.Or(cmp.Compare(uint64(a.first), uint64(b.first)), cmp.Compare(a.worker, b.worker))
	})
	if r.layout == nil {
		list.Apart = r.gap
	} else {
		list.Gap = (time.Duration(min(r.gap-1, uint64((1<<62)/r.layout.Unit))) * r.layout.Unit).Seconds()
	}
	for _, s := range most {
		run := Run{Worker: s.worker, First: ID(s.first), Last: ID(s.last), IDs: s.ids}
		for i, name := range sides {
			if s.sides>>i&1 != 0 {
				run.Sides = append(run.Sides, name)
			}
		}
		if r.layout != nil {
			run.From, run.To = Time{r.layout.TimeOf(snowfence.Tick(s.from))}, Time{r.layout.TimeOf(snowfence.Tick(s.to))}
		}
		list.List = append(list.List, run)
	}
	return list
}
