package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

const (
	// leastTurns is how often the steps from row to row must change, at least, in copied
	// rows. No generator repeats its changes. An even pace lacks changes, such as numbers that a
	// database counts up: it proves nothing.
	leastTurns = 16
	// most bounds how many subjects are distinguished, and how many lines are followed.
	most = 1 << 15
	// maxWorkers is how many worker ids a cause lists.
	maxWorkers = 16
)

// adviceOf is the advice for each kind.
func adviceOf(kind Kind) string {
	return map[Kind]string{
		SameWorker: "give each process a worker id of its own; if the rows are the same records, this is no collision",
		SetBack:    "let the generator wait while its clock is behind its last id; check the logs of two processes as two sources",
		Copies:     "leave one copy out and check again; if the rows are different records, one process was a clone of the other",
		Rounded:    source.RoundedAdvice,
		Undecided:  "compare the rows before you delete any: only copies are alike in every column",
	}[kind]
}

// subject is shared by pairs of equal ids.
type subject struct {
	sources [2]int
	worker  int64 // -1: not known
	back    bool  // the second place is in the furthest descent of the worker id
}

// pairs is a number of pairs of places, with the bounds of their positions.
type pairs struct{ count, low, high, low2, high2 uint64 }

func (p *pairs) add(a, b uint64) {
	if p.count == 0 {
		p.low, p.low2 = a, b
	}
	p.count++
	p.low, p.high, p.low2, p.high2 = min(p.low, a), max(p.high, a), min(p.low2, b), max(p.high2, b)
}

// line is where rows may have been copied: pairs whose places are equally far apart.
type line struct {
	sources  [2]int
	distance uint64
}

// course is the pairs of a line. A step goes from the first id of a tick to the first id
// of the next tick that has any.
type course struct {
	pairs
	steps, turns uint64 // turns is how often the step changed
	tick, at     uint64 // of the end of the last step
	ticks, rows  uint64 // of the last step
}

// step adds a pair of a tick.
func (c *course) step(tick, at uint64) {
	if tick == c.tick && c.steps > 0 {
		return
	}
	ticks, rows := tick-c.tick, at-c.at
	if c.steps > 1 && (ticks != c.ticks || rows != c.rows) {
		c.turns++
	}
	c.steps++
	c.tick, c.at, c.ticks, c.rows = tick, at, ticks, rows
}

// between is all pairs of one or two sources.
type between struct {
	pairs, workers, copied uint64
	longest                *course // of copied rows
	rounding               source.Rounding
}

// judge takes pairs of places with equal ids, lowest ids first, and finds their causes.
type judge struct {
	*checker
	subjects map[subject]*pairs
	lines    map[line]*course
	all      map[[2]int]*between
}

// add adds a pair: an id that stands at two positions, a before b.
func (j *judge) add(id, a, b uint64) {
	first, _ := j.Stand(a)
	second, _ := j.Stand(b)
	s, tick := subject{[2]int{first, second}, -1, false}, id
	if f := j.watcher.fields; f != nil && f.fits(id) && f.layout.Workers() > 1 {
		s.worker, tick = f.number(id), f.tick.of(id)
	}
	if seen := j.sighting(s, 0); seen != nil && first == second {
		seen.repeated++
		s.back = a < seen.furthest.at && seen.furthest.at <= b && b <= seen.furthest.end
	}
	if len(j.subjects) >= most && j.subjects[s] == nil {
		s.worker, s.back = -1, false
	}
	of := at(j.all, s.sources)
	p := at(j.subjects, s)
	if p.count == 0 {
		of.workers++
	}
	p.add(a, b)
	of.pairs++
	of.rounding.Add([]source.Item{{ID: snowfence.ID(id)}})
	if l := (line{s.sources, b - a}); len(j.lines) < most || j.lines[l] != nil {
		c := at(j.lines, l)
		c.add(a, b)
		c.step(tick, a)
	}
}

// at returns the value of a key, at first a new one.
func at[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// sighting returns the course of a subject's worker id in one of its sources, or nil.
func (j *judge) sighting(s subject, side int) *sighting {
	return j.watcher.workers[s.sources[side]][s.worker]
}

// findCopies finds the copied rows: hardly any row is left out, and neither two processes
// nor one whose clock was set back would issue the same rows.
func (j *judge) findCopies() {
	for l, c := range j.lines {
		of := j.all[l.sources]
		// No clock makes several processes write in the same order again.
		if c.turns+of.workers-1 < leastTurns || c.count*10 < (c.high-c.low+1)*9 {
			continue
		}
		of.copied += c.count
		if o := of.longest; o == nil || c.count > o.count || c.count == o.count && (c.low < o.low || c.low == o.low && c.low2 < o.low2) {
			of.longest = c
		}
	}
}

// causes finds the causes of all pairs.
func (j *judge) causes() []Cause {
	j.findCopies()
	order := slices.SortedFunc(maps.Keys(j.subjects), func(a, b subject) int {
		byCount := cmp.Compare(j.subjects[b].count, j.subjects[a].count)
		return cmp.Or(byCount, slices.Compare(a.sources[:], b.sources[:]), cmp.Compare(a.worker, b.worker))
	})
	causes := []Cause{}
	groups := map[Kind]map[[2]int]int{Rounded: {}, Copies: {}, SameWorker: {}, SetBack: {}, Undecided: {}}
	for _, s := range order { // the first of a group explains it
		kind, evidence := j.explain(s, j.subjects[s])
		i, known := groups[kind][s.sources]
		if !known {
			i = len(causes)
			groups[kind][s.sources] = i
			names := []string{j.name(s.sources[0]), j.name(s.sources[1])}
			causes = append(causes, Cause{Kind: kind, Sources: slices.Compact(names), Evidence: evidence, Advice: adviceOf(kind)})
		}
		c := &causes[i]
		c.Duplicates += j.subjects[s].count
		if s.worker >= 0 && kind != Rounded && kind != Copies && !slices.Contains(c.Workers, s.worker) {
			c.WorkerCount++
			c.Workers = append(c.Workers, s.worker)[:min(c.WorkerCount, maxWorkers)]
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		first := map[Kind]int{Rounded: 1} // before all advice that would be wrong then
		return cmp.Or(first[b.Kind]-first[a.Kind], cmp.Compare(b.Duplicates, a.Duplicates))
	})
	return causes
}

// rounded shows by which numbers the equal ids of two sources look rounded, or is empty.
func (j *judge) rounded(sources [2]int) string {
	for _, source := range sources {
		if said := j.Inputs[source].Rounding.Text(); said != "" {
			return j.name(source) + ": " + said
		}
	}
	if said := j.all[sources].rounding.Text(); said != "" {
		return "of the ids that repeat, " + said
	}
	return ""
}

// undecided is the evidence where no cause is shown.
const undecided = "two processes, a clock that is set back and rows that stand twice can all look like this"

// explain finds the cause of a subject, and its evidence.
func (j *judge) explain(s subject, p *pairs) (Kind, string) {
	f, of, worker := j.watcher.fields, j.all[s.sources], fmt.Sprintf("worker id %d ", s.worker)
	a, b, first, second := j.sighting(s, 0), j.sighting(s, 1), j.name(s.sources[0]), j.name(s.sources[1])
	switch said := j.rounded(s.sources); {
	case said != "":
		return Rounded, said
	case of.copied*10 >= of.pairs*9:
		l := of.longest
		from, again := j.where(l.low), j.where(l.low2)
		return Copies, fmt.Sprintf("%s stand twice in one order: from %s, %s on, and from %s, %s on",
			text.Count(l.count, "row"), from.Source, from.Text, again.Source, again.Text)
	case f == nil || a == nil || b == nil:
		return Undecided, "their worker ids are not known: no layout is named or suits them, or they are too many"
	case s.sources[0] != s.sources[1] && p.count < min(a.ids-a.repeated, b.ids-b.repeated): // two processes also have ids of their own
		return SameWorker, worker + fmt.Sprintf("has %s in %s, %s to %s, and %s in %s, %s to %s; %s %s in both",
			text.Count(a.ids, "id"), first, f.time(a.low), f.time(a.high), text.Grouped(b.ids), second, f.time(b.low), f.time(b.high),
			text.Grouped(p.count), text.Plural(p.count, "is", "are"))
	}
	// A generator goes on at its own pace: some ids are new, and the others don't stand in
	// one piece, which may have been copied ahead of its place.
	piece := p.count == p.high-p.low+1 && p.count == p.high2-p.low2+1
	if d := a.furthest; s.back && d.from > d.to && d.ids > p.count && !piece {
		at := j.where(d.at)
		return SetBack, worker + fmt.Sprintf("goes back from %s to %s at %s, %s, and %s of the %s until it is past that came before",
			f.time(d.from), f.time(d.to), at.Source, at.Text, text.Grouped(p.count), text.Count(d.ids, "id"))
	}
	return Undecided, undecided
}
