package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
	mixed := false
	for _, l := range labels {
		g := l
		g.worker = -1
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], l)
		mixed = mixed || l.kind == MixUp
	}
	causes := []Cause{}
	for _, g := range order {
		causes = append(causes, r.cause(groups[g]))
	}
	// Ids that don't fit are worth a warning, also where no duplicate is.
	for i, w := range r.observer.sources {
		if !mixed && w.unfit > 0 && len(causes) < len(order)+maxWorkers {
			c := Cause{Kind: MixUp, Sources: []string{r.name(i)}, Evidence: r.fit(i)}
			_, c.Advice = r.mixUp([2]int{i, i})
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Duplicates, a.Duplicates) })
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
	if f := r.observer.fields; f != nil && f.fits(all.first) && f.fits(all.last) && top.kind != MixUp {
		from, to := f.time(f.tick.of(all.first)), f.time(f.tick.of(all.last))
		if from.After(to) {
			from, to = to, from // of a layout in which the worker stands above the time
		}
		c.From, c.To = &from, &to
	}
	f := r.judge.findings[top]
	switch top.kind {
	case Copies:
		c.Evidence, c.Advice = r.copies(f)
	case SameWorker:
		c.Evidence, c.Advice = r.sameWorker(&c, top)
	case Overlapping:
		c.Evidence, c.Advice = r.overlapping(&c, top, f)
	case SetBack:
		c.Evidence, c.Advice = r.setBack(&c, top, f)
	case Doubled:
		c.Evidence, c.Advice = r.doubled(&c, top, f)
	case MixUp:
		c.Evidence, c.Advice = r.mixUp(top.sources)
	default:
		c.Evidence, c.Advice = r.unexplained(&c, top, f)
	}
	return c
}

func (r words) copies(f *finding) (evidence, advice string) {
	evidence = fmt.Sprintf("%d rows in a row: %s", f.longest.count, r.again(f.longest)) + pieces(f)
	if f.longest.sources[0] == f.longest.sources[1] {
		evidence += "; no row between them is left out and none is new, which speaks against a clock that was set back: a generator then goes on at its own pace"
	}
	return evidence, "most likely the same rows were exported or loaded twice, which is no collision: leave one copy out and check again; if they are different records, one process issued as a clone of the other"
}

// doubled describes single rows that stand twice.
func (r words) doubled(c *Cause, l label, f *finding) (evidence, advice string) {
	evidence = r.worker(l.worker) + ": "
	if f.longest.count == 0 {
		evidence += "single rows, far between each other, stand again in one piece"
	} else {
		evidence += r.twice(f.longest)
	}
	if c.Duplicates > 1 {
		evidence += fmt.Sprintf("; %d ids stand twice like this", c.Duplicates)
	}
	follows := "and nothing follows"
	if f.seen.wentOn {
		follows = "but what follows is not"
	}
	evidence += fmt.Sprintf("; %s is before what stands above it, %s: a clock that was set back by %s would have repeated the ids after it too, or issued new ones between them",
		r.time(f.seen.to), follows, r.back(f.seen))
	return evidence + c.more(), "most likely a row was written or exported twice, which is no collision: leave one copy out and check again; if they are different records, look whether the clock was set back for a moment when the later one was made"
}

// sameWorker describes two processes with one worker id at the same time.
func (r words) sameWorker(c *Cause, l label) (evidence, advice string) {
	a, b := r.seen(l)
	advice = "give each process a worker id of its own; `snowfence workers list` shows who holds which, and a lease from a store can't be held twice"
	if l.why == twoSequences {
		evidence = fmt.Sprintf("%s: its ids, %d from %s to %s, are two rising sequences that alternate (%d and %s; its ids go back %s)",
			r.worker(l.worker), a.ids, r.time(a.low), r.time(a.high), a.ids-a.second-a.third, count(a.second, "id"), count(a.descents, "time"))
		return evidence + c.more(), advice + "; but where several threads write to one log, each a little late, rows that stand there twice look like this too: look at the rows themselves"
	}
	evidence = fmt.Sprintf("%s: %s in %s and %d in %s, both from %s to %s",
		r.worker(l.worker), count(a.ids, "id"), r.name(l.sources[0]), b.ids, r.name(l.sources[1]), r.time(max(a.low, b.low)), r.time(min(a.high, b.high)))
	same := r.innerText(l.sources) + r.evenText(l.sources)
	if same != "" {
		advice = "if they are the same records, one that refers to the other or was copied from it, this is no collision; else " + advice
	}
	return evidence + c.more() + same, advice
}

// seen is what was seen of the worker id of a label in its sources.
func (r words) seen(l label) (a, b *sighting) {
	return r.observer.sources[l.sources[0]].sighting(l.worker), r.observer.sources[l.sources[1]].sighting(l.worker)
}

// innerText adds that one of two sources has no id of its own.
func (r words) innerText(sources [2]int) string {
	inner, outer, ok := r.inner(sources)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; every id of %s is also in %s", r.name(inner), r.name(outer))
}

// evenText adds that rows may have been copied.
func (r words) evenText(sources [2]int) string {
	n := r.judge.evenly[sources]
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d %s in both in the same order with none left out, as copied rows do, but the pace is so even that two processes issue the same ids", n, ending(n, "stands", "stand"))
}

func (r words) overlapping(c *Cause, l label, f *finding) (evidence, advice string) {
	if l.why == restarted {
		evidence = fmt.Sprintf("%s: at %s its sequence begins again within the tick of %s", r.worker(l.worker), r.place(f.seen.at), r.time(f.seen.to)) + pace(f)
	} else {
		a, b := r.seen(l)
		first, second := l.sources[0], l.sources[1]
		if a.low > b.low {
			a, b, first, second = b, a, second, first
		}
		evidence = fmt.Sprintf("%s: its ids in %s end at %s, and those in %s begin at %s, which is before",
			r.worker(l.worker), r.name(first), r.time(a.high), r.name(second), r.time(b.low))
	}
	return evidence + c.more() + r.evenText(l.sources), "let a term begin where the one before it ended, or later: a lease from a store does that; without one, wait at a restart until the clock is past the last id"
}

func (r words) setBack(c *Cause, l label, f *finding) (evidence, advice string) {
	evidence = fmt.Sprintf("%s: at %s its time goes back by %s, from %s to %s, and ids in between repeat",
		r.worker(l.worker), r.place(f.seen.at), r.back(f.seen), r.time(f.seen.from), r.time(f.seen.to)) + pace(f)
	if a, _ := r.seen(l); a.descents > 1 {
		evidence += fmt.Sprintf("; it goes back %d times", a.descents)
	}
	return evidence + c.more(), "a generator must not issue for ticks that it has used: let it wait or stop when the clock goes back (`--max-rollback`), keep the worker id's last tick over restarts, and step no clock while it runs"
}

// pace says why ids that go back are those of a generator.
func pace(f *finding) string {
	ids := count(f.issued, "id") + " that " + ending(f.issued, "follows", "follow")
	fresh := f.issued - min(f.issued, f.count)
	switch {
	case fresh > 0:
		return fmt.Sprintf("; of the %s until it is past that, %d %s new, which copied rows would not be", ids, fresh, ending(fresh, "is", "are"))
	case f.seen.even():
		return fmt.Sprintf("; none of the %s is new until it is past that: a generator of so even a pace repeats them all, but rows that were copied look like this too, and are alike in every column", ids)
	}
	return fmt.Sprintf("; none of the %s is new, but they leave out some that were there, and run on: rows that were copied by hand can look like this too", ids)
}

// mixUp describes ids of two layouts.
func (r words) mixUp(sources [2]int) (evidence, advice string) {
	evidence = r.fit(sources[0])
	if sources[0] != sources[1] {
		evidence += "; " + r.fit(sources[1])
	}
	return evidence, "ids of two layouts can't share one column, table or topic: equal numbers mean different things there; keep them apart, or name the layout with --layout if this is a wrong guess"
}

// unexplained describes duplicates that no rule explains, or several do.
func (r words) unexplained(c *Cause, l label, f *finding) (evidence, advice string) {
	const look = "look at the rows themselves"
	switch l.why {
	case noLayout:
		return "no layout was named, and no preset suits half of the ids: nothing is known of their times and worker ids",
			"name the layout with --layout, if they have one; numbers that a database counts up have none, and begin again in each database"
	case noWorker:
		return "the layout has no worker id, so the ids don't show which process issued them", look + ": when and by which process each was made"
	case sorted:
		return "the ids stand in rising order, so they don't show which of them came first" + c.workers(),
			"a row that was written twice in a row looks like this, and so do a generator that began again within a tick and ids that were sorted: check the ids in the order in which they were made, or each process's ids as a source of its own"
	case unordered:
		return "the ids stand in no order of time, so they don't show which of them came first" + c.workers(),
			"check the ids in the order in which they were made, or each process's ids as a source of its own"
	case repeating:
		return "every id that comes late repeats an id that came before, and none is new" + c.workers(),
			"rows that were delivered or written twice look like this, and are no collision; so does a second process that issued nothing else: " + look
	case following:
		return "ids follow themselves, with no other of their worker id in between" + c.workers(),
			"a row that was written twice looks like this, and is no collision; so does a generator that began again within a tick: " + look
	case undecided:
		return r.undecided(c, l, f),
			"compare the rows themselves: copies are alike in every column, and leaving one out ends it; different records with one id are a collision, and the host's log tells whether its clock was set then"
	case counted:
		return fmt.Sprintf("%d numbers that follow each other with hardly a gap, from %s on: %s", f.longest.count, text(f.longest.first), r.again(f.longest)) + pieces(f),
			"compare the rows themselves before one is left out: numbers that a database counts up begin again in each database, so these may be different records with equal ids, which need other ids before they come together; rows that were exported or loaded twice look like this too, and are no collision"
	case alike:
		return r.alike(c, l, f),
			look + ": the same records, of which one refers to the other, was copied from it or was delivered twice, are no collision; different ones are of two processes with one worker id that act on the same events or timers, and each needs a worker id of its own"
	case often:
		a, _ := r.seen(l)
		return fmt.Sprintf("%s: its %d ids go back %d times, more often than is followed one by one (%d times)", r.worker(l.worker), a.ids, a.descents, maxDescents) + c.more(),
			"check the log piece by piece, each in a check of its own, so that they go back less often: a clock that is set back again and again looks like this, and so do a second process with the worker id that issues few ids, and rows that are written twice, late or out of order"
	}
	return fmt.Sprintf("there are more than %d worker ids in the sources, and theirs were not watched", maxSightings), look + ": when and by which process each was made"
}

// undecided describes a run that may be of copied rows or of a clock set back.
func (r words) undecided(c *Cause, l label, f *finding) string {
	if f.longest.count == 0 {
		return "ids that come late repeat ids that came before" + c.workers()
	}
	evidence := r.again(f.longest)
	if f.longest.count == 1 {
		evidence = r.twice(f.longest)
	}
	clock := "a clock that was set back by " + r.back(f.seen).String()
	if f.seen.from == f.seen.to {
		clock = "a sequence that began again within its tick"
	}
	copied := fmt.Sprintf("of %s none is new", count(f.issued, "id"))
	if f.issued > c.Duplicates {
		copied = "all of one piece is in the other"
	}
	return fmt.Sprintf("%s: %s; rows that were copied look like this, and so does %s: %s, but so few ids, or ids of so even a pace, can repeat by chance too%s",
		r.worker(l.worker), evidence, clock, copied, c.more())
}

// alike describes more ids in common than two processes would have by chance.
func (r words) alike(c *Cause, l label, f *finding) string {
	a, _ := r.seen(l)
	once, again := "", "there again"
	if l.sources[0] != l.sources[1] {
		once, again = " in "+r.name(l.sources[0]), "in "+r.name(l.sources[1])
	}
	return fmt.Sprintf("%s: of its %s%s, which are so far apart that %d %s another in their tick or the next, %d %s %s: far more than two processes would come to by chance",
		r.worker(l.worker), count(a.ids, "id"), once, a.crowded, ending(a.crowded, "has", "have"), f.count, ending(f.count, "stands", "stand"), again) + c.more() + r.innerText(l.sources)
}
