package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// maxWorkers is how many worker ids a cause lists.
const maxWorkers = 16

// causes puts the findings that differ in the worker id alone together.
func (r words) causes() []Cause {
	labels := slices.SortedFunc(maps.Keys(r.judge.findings), func(a, b label) int {
		return cmp.Or(
			cmp.Compare(r.judge.findings[b].count, r.judge.findings[a].count),
			cmp.Compare(a.kind, b.kind), slices.Compare(a.sources[:], b.sources[:]), cmp.Compare(a.worker, b.worker), cmp.Compare(a.why, b.why),
		)
	})
	var order []label
	groups := map[label][]label{}
	mixed, rounded := false, map[int]bool{}
	for _, l := range labels {
		g := l
		g.worker = -1
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], l)
		mixed = mixed || l.kind == MixUp
		rounded[l.sources[0]] = rounded[l.sources[0]] || l.kind == Rounded
	}
	causes := []Cause{}
	for _, g := range order {
		causes = append(causes, r.cause(groups[g]))
	}
	// Ids that don't fit are worth a warning, also where no duplicate is.
	for i, w := range r.observer.sources {
		if evidence := w.rounding.Text(); evidence != "" && !rounded[i] {
			causes = append(causes, Cause{Kind: Rounded, Sources: []string{r.name(i)}, Evidence: evidence, Advice: idsource.RoundedAdvice})
		}
		if !mixed && w.unfit > 0 && len(causes) < len(order)+maxWorkers {
			c := Cause{Kind: MixUp, Sources: []string{r.name(i)}, Evidence: r.fit(i), Advice: mixUpAdvice}
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		switch first := a.Kind == Rounded; {
		case first == (b.Kind == Rounded):
		case first: // before all advice that would be wrong then
			return -1
		default:
			return 1
		}
		return cmp.Compare(b.Duplicates, a.Duplicates)
	})
	return causes
}

// cause describes findings, the most frequent first.
func (r words) cause(labels []label) Cause {
	top := labels[0]
	c := Cause{Kind: top.kind, Sources: r.names(top.sources)}
	all := pairs{}
	for _, l := range labels {
		all.add(r.judge.findings[l].pairs)
		if l.worker >= 0 {
			c.WorkerCount++
			if len(c.Workers) < maxWorkers {
				c.Workers = append(c.Workers, l.worker)
			}
		}
	}
	c.Duplicates = all.count
	if f := r.observer.fields; f != nil && f.fits(all.first) && f.fits(all.last) && top.kind != MixUp && top.kind != Rounded {
		from, to := f.time(f.tick.of(all.first)), f.time(f.tick.of(all.last))
		if from.After(to) {
			from, to = to, from // of a layout in which the worker stands above the time
		}
		c.From, c.To = &from, &to
	}
	c.Evidence, c.Advice = r.explain(top)
	if c.WorkerCount > 1 {
		others := c.WorkerCount - 1
		c.Evidence += fmt.Sprintf("; and so %s %s", text.Plural(others, "does", "do"), text.Count(others, "more worker id"))
	}
	return c
}

// What causes advise.
const (
	copiesAdvice    = "most likely the same rows were exported or loaded twice, which is no collision: leave one copy out and check again; if they are different records, one process issued as a clone of the other"
	ownAdvice       = "give each process a worker id of its own; `snowfence workers list` shows who holds which, and a lease from a store can't be held twice"
	threadsAdvice   = ownAdvice + "; but where several threads write to one log, each a little late, rows that stand there twice look like this too: look at the rows themselves"
	sameWorkAdvice  = ownAdvice + "; but if they are the same records, one that refers to the other or was copied from it, this is no collision"
	termsAdvice     = "let a term begin where the one before it ended, or later: a lease from a store does that; without one, wait at a restart until the clock is past the last id"
	clockAdvice     = "a generator must not issue for ticks that it has used: let it wait or stop when the clock goes back (`--max-rollback`), keep the worker id's last tick over restarts, and step no clock while it runs"
	mixUpAdvice     = "ids of two layouts can't share one column, table or topic: equal numbers mean different things there; keep them apart, or name the layout with --layout if this is a wrong guess"
	unknownAdvice   = "look at the rows themselves, when and by which process each was made, and name the layout with --layout if the ids have one; numbers that a database counts up begin again in each database, so these may be different records with equal ids"
	undecidedAdvice = "compare the rows themselves: copies are alike in every column, and leaving one out ends it; different records with one id are a collision, and the host's log tells whether its clock was set or its process restarted then"
	fewAdvice       = "compare the rows themselves, and do not delete any: different records have one id if it was rounded; export the column as text from where the ids were made, and check again"
	disorderAdvice  = "check the ids in the order in which they were made, or the log piece by piece, each in a check of its own: a clock that is set back again and again looks like this, and so do a second process with the worker id, and rows that are written twice, late or out of order"
	alikeAdvice     = "look at the rows themselves: the same records, of which one refers to the other, was copied from it or was delivered twice, are no collision; different ones are of two processes with one worker id that act on the same events or timers, and each needs a worker id of its own"
)

// explain puts a finding into words.
func (r words) explain(l label) (evidence, advice string) {
	f := r.judge.findings[l]
	switch {
	case l.kind == Rounded:
		evidence = r.observer.sources[l.sources[0]].rounding.Text()
		return cmp.Or(evidence, "of the ids that repeat, "+r.judge.repeated[l.sources].Text()), idsource.RoundedAdvice
	case l.kind == Copies:
		return r.copies(f), copiesAdvice
	case l.kind == MixUp:
		evidence = r.fit(l.sources[0])
		if l.sources[0] != l.sources[1] {
			evidence += "; " + r.fit(l.sources[1])
		}
		return evidence, mixUpAdvice
	case l.why == unknown:
		return r.unknown(), unknownAdvice
	}
	evidence, advice = r.ofWorker(l, f)
	if few := r.judge.repeated[l.sources].Few(); few != "" && l.why == undecided {
		evidence, advice = evidence+"; "+few, fewAdvice
	}
	return r.worker(l.worker) + ": " + evidence, advice
}

// copies says where the longest piece of copied rows stands.
func (r words) copies(f *finding) string {
	l := f.longest
	a, b := r.where(l.low+l.distance), r.where(l.high+l.distance)
	s := fmt.Sprintf("%s in a row: %s to %s stand at %s, %s to %s too, in the same order, and no generator repeats such a pace", text.Count(l.count, "row"), r.place(l.low), r.place(l.high), a.Source, a.Text, b.Text)
	if more := len(f.lines) - 1; more > 0 {
		s += "; and " + text.Count(more, "more such piece")
	}
	return s
}

// unknown says why no process is known.
func (r words) unknown() string {
	switch f := r.observer.fields; {
	case f == nil:
		return "no layout was named, and no preset suits half of the ids: their times and worker ids are not known"
	case f.layout.Workers() == 1:
		return "the layout has no worker id, so the ids don't show which process issued them"
	}
	return fmt.Sprintf("there are more than %d worker ids in the sources, and theirs were not watched", maxSightings)
}

// ofWorker describes a finding about one worker id.
func (r words) ofWorker(l label, f *finding) (evidence, advice string) {
	a, b := r.observer.sources[l.sources[0]].sighting(l.worker), r.observer.sources[l.sources[1]].sighting(l.worker)
	first, second := r.name(l.sources[0]), r.name(l.sources[1])
	switch {
	case l.why == twoSequences:
		return fmt.Sprintf("its ids, %s from %s to %s, are two rising sequences that alternate (%s and %s; its ids go back %s)", text.Grouped(a.ids), r.time(a.low), r.time(a.high), text.Grouped(a.ids-a.second-a.third), text.Count(a.second, "id"), text.Count(a.descents, "time")), threadsAdvice
	case l.why == undecided && f.seen == nil:
		return "ids follow themselves, with no other of its ids in between: a row that was written twice looks like this, and is no collision; so do a generator that began again within a tick, and ids that were sorted", undecidedAdvice
	case l.why == undecided:
		clock := "a clock that was set back by " + r.back(f.seen).String()
		if f.seen.from == f.seen.to {
			clock = "a sequence that began again within its tick"
		}
		return fmt.Sprintf("ids that come late repeat ids that came before, the furthest at %s; rows that were copied look like this, and so does %s", r.place(f.seen.at), clock), undecidedAdvice
	case l.why == disorder:
		return fmt.Sprintf("its %s go back %s in no order that tells which came first", text.Count(a.ids, "id"), text.Count(a.descents, "time")), disorderAdvice
	case l.why == alike:
		return fmt.Sprintf("of its %s in %s and %s in %s, %s are in both, and they are so far apart in time that two processes would have fewer by chance", text.Count(a.ids, "id"), first, text.Grouped(b.ids), second, text.Grouped(f.count)), alikeAdvice
	case l.kind == SetBack:
		evidence = fmt.Sprintf("at %s its time goes back by %s, from %s to %s, and ids in between repeat", r.place(f.seen.at), r.back(f.seen), r.time(f.seen.from), r.time(f.seen.to))
		fresh := f.issued - min(f.issued, f.count)
		evidence += fmt.Sprintf("; of the %s until it is past that, %s %s new, which copied rows would not be", text.Count(f.issued, "id"), text.Grouped(fresh), text.Plural(fresh, "is", "are"))
		if a.descents > 1 {
			evidence += "; it goes back " + text.Count(a.descents, "time")
		} else {
			evidence += "; logs of two processes with this worker id, one behind the other, look the same: give each log as a source of its own"
		}
		return evidence, clockAdvice
	case l.kind == Overlapping:
		if a.low > b.low {
			a, b, first, second = b, a, second, first
		}
		return fmt.Sprintf("its ids in %s end at %s, and those in %s begin at %s, which is before", first, r.time(a.high), second, r.time(b.low)), termsAdvice
	}
	return fmt.Sprintf("%s in %s and %s in %s, both from %s to %s", text.Count(a.ids, "id"), first, text.Grouped(b.ids), second, r.time(max(a.low, b.low)), r.time(min(a.high, b.high))), sameWorkAdvice
}
