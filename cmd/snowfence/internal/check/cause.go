package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxWorkers is how many worker ids a cause lists.
const maxWorkers = 16

// causes puts the findings of one kind in the same sources together.
func (r *reporting) causes() []Cause {
	var order []subject
	groups := map[subject][]subject{}
	for _, s := range r.judge.subjects() {
		g := s
		g.worker = -1
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], s)
	}
	causes := []Cause{}
	mixed := false
	for _, g := range order {
		causes = append(causes, r.cause(g, groups[g]))
		mixed = mixed || g.kind == MixUp
	}
	if !mixed {
		causes = append(causes, r.misfits()...)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Duplicates, a.Duplicates) })
	return causes
}

// cause describes findings that differ in the worker id alone.
func (r *reporting) cause(g subject, of []subject) Cause {
	c := Cause{Kind: g.kind, WorkerCount: len(of)}
	whole := finding{}
	for _, s := range of {
		f := r.judge.findings[s]
		whole.note(f.first, f.count)
		whole.note(f.last, 0)
		if s.worker < 0 {
			c.WorkerCount = 0
		} else if len(c.Workers) < maxWorkers {
			c.Workers = append(c.Workers, s.worker)
		}
	}
	if c.WorkerCount == 0 {
		c.Workers = nil
	}
	c.Duplicates = whole.count
	c.Sources = r.names(g.sources)
	if f := r.observer.fields; f != nil && f.fits(whole.first) && f.fits(whole.last) && g.kind != MixUp {
		from, to := f.time(f.tick.of(whole.first)), f.time(f.tick.of(whole.last))
		if from.After(to) {
			from, to = to, from // of a layout in which the worker stands above the time
		}
		c.From, c.To = &from, &to
	}
	top := of[0]
	switch g.kind {
	case Copies:
		r.copies(&c, r.judge.findings[top])
	case SameWorker:
		r.sameWorker(&c, top)
	case Overlapping:
		r.overlapping(&c, top)
	case SetBack:
		r.setBack(&c, top)
	case Doubled:
		r.doubled(&c, top)
	case MixUp:
		r.mixUp(&c, g)
	default:
		r.unexplained(&c, g, top)
	}
	return c
}

func (r *reporting) copies(c *Cause, f *finding) {
	l := f.longest
	of := fmt.Sprintf("%s to %s stand %s too, in the same order", r.place(l.aLow), r.place(l.aHigh), r.span(l.aLow+l.distance, l.aHigh+l.distance))
	c.Evidence = fmt.Sprintf("%d rows in a row: %s", l.count, of)
	if f.lines > 1 {
		c.Evidence += "; and " + count(f.lines-1, "more such piece")
	}
	if l.sources[0] == l.sources[1] {
		c.Evidence += "; none is left out and none is new between them, which speaks against a clock that was set back: a generator goes on at its own pace then"
	}
	c.Advice = "most likely the same rows were exported or loaded twice, which is no collision: leave one copy out and check again; should they be different records, one process issued as a clone of the other"
}

// doubled tells of single rows that stand twice.
func (r *reporting) doubled(c *Cause, s subject) {
	f := r.judge.findings[s]
	if l := f.longest; l.count == 0 {
		c.Evidence = "single rows, far between each other, stand again in one piece"
	} else {
		c.Evidence = fmt.Sprintf("the id at %s stands at %s too", r.place(l.aLow), r.placeText(l.aLow+l.distance))
	}
	if s.worker >= 0 {
		c.Evidence = r.worker(s.worker) + ": " + c.Evidence
	}
	if c.Duplicates > 1 {
		c.Evidence += fmt.Sprintf("; %d ids stand twice like this", c.Duplicates)
	}
	if d := f.event; d != nil && s.worker >= 0 {
		follows := "and nothing follows"
		if d.wentOn {
			follows = "but what follows is not"
		}
		c.Evidence += fmt.Sprintf("; %s is before what stands above it, %s: a clock that was set back by %s would have repeated the ids after it too, or issued new ones between them",
			r.time(d.to), follows, r.back(d))
	}
	c.Evidence += r.more(c)
	c.Advice = "most likely a row was written or exported twice, which is no collision: leave one copy out and check again; should they be different records, look whether the clock was set back for a moment when the later one was made"
}

// counted tells of numbers that follow each other.
func (r *reporting) counted(c *Cause, f *finding) {
	l := f.longest
	c.Evidence = fmt.Sprintf("%d numbers that follow each other with hardly a gap, from %s on: %s to %s stand %s too, in the same order",
		l.count, text(l.first.id), r.place(l.aLow), r.place(l.aHigh), r.span(l.aLow+l.distance, l.aHigh+l.distance))
	if f.lines > 1 {
		c.Evidence += "; and " + count(f.lines-1, "more such piece")
	}
	c.Advice = "compare the rows themselves before one is left out: numbers that a database counts up start anew in each, so these may be different records with equal ids, which need other ids before they come together; rows that were exported or loaded twice look like this too, and are no collision"
}

// alike tells of more ids in common than two processes would have by chance.
func (r *reporting) alike(c *Cause, s subject) {
	a := r.observer.sources[s.sources[0]].sighting(s.worker)
	b := r.observer.sources[s.sources[1]].sighting(s.worker)
	f := r.judge.findings[s]
	if s.worker < 0 || a == nil || b == nil {
		c.Evidence = "worker ids have far more ids in common than two processes would come to by chance"
	} else {
		c.Evidence = fmt.Sprintf("%s: of its %s in %s, which are so far apart that %d %s another in their tick or the next, %d %s in %s",
			r.worker(s.worker), count(a.ids, "id"), r.name(s.sources[0]), a.crowded, ending(a.crowded, "has", "have"), f.count, ending(f.count, "stands", "stand"), r.name(s.sources[1]))
		if s.sources[0] == s.sources[1] {
			c.Evidence = fmt.Sprintf("%s: of its %s, which are so far apart that %d %s another in their tick or the next, %d %s there again",
				r.worker(s.worker), count(a.ids, "id"), a.crowded, ending(a.crowded, "has", "have"), f.count, ending(f.count, "stands", "stand"))
		}
		c.Evidence += ": far more than two processes would come to by chance"
	}
	c.Evidence += r.more(c)
	if less, ok := r.judge.nothing[s.sources]; ok {
		c.Evidence += fmt.Sprintf("; %s has no id that the other has not", r.name(less))
	}
	c.Advice = "look at the rows themselves: the same records, of which one refers to the other, was copied from it or was delivered twice, are no collision; different ones are of two processes with one worker id that act on the same events or timers, and each needs a worker id of its own"
}

// often tells of ids that go back too often to be followed.
func (r *reporting) often(c *Cause, s subject) {
	seen := r.observer.sources[s.sources[0]].sighting(s.worker)
	if s.worker < 0 || seen == nil {
		c.Evidence = "the times of worker ids go back again and again, and ids repeat"
	} else {
		c.Evidence = fmt.Sprintf("%s: its %d ids go back %d times, more often than is followed one by one (%d times)",
			r.worker(s.worker), seen.ids, seen.descents, maxDescents)
	}
	c.Evidence += r.more(c)
	c.Advice = "check the log piece by piece, each in a check of its own, so that they go back less often: a clock that is set back again and again looks like this, and so do a second process with the worker id that issues few ids, and rows that are written twice, late or out of order"
}

// undecided tells of a run that may be of copied rows or of a clock set back.
func (r *reporting) undecided(c *Cause, s subject) {
	f := r.judge.findings[s]
	l, d := f.longest, f.event
	if s.worker < 0 || l.count == 0 || d == nil {
		c.Evidence = "what stands late repeats ids that came before" + r.workersOf(c)
	} else {
		c.Evidence = fmt.Sprintf("%s: %s to %s stand %s too, in the same order",
			r.worker(s.worker), r.place(l.aLow), r.placeText(l.aHigh), r.span(l.aLow+l.distance, l.aHigh+l.distance))
		if l.count == 1 {
			c.Evidence = fmt.Sprintf("%s: the id at %s stands at %s too", r.worker(s.worker), r.place(l.aLow), r.placeText(l.aLow+l.distance))
		}
		other := "a clock that was set back by " + r.back(d).String()
		if d.from == d.to {
			other = "a sequence that began again within its tick"
		}
		speaks := "of " + count(f.issued, "id") + " none is new"
		if f.issued > c.Duplicates {
			speaks = "all of one piece is in the other"
		}
		c.Evidence += fmt.Sprintf("; rows that were copied look like this, and so does %s: for copies speaks that %s, for the other that ids this few, or of a pace this even, can be repeated by chance",
			other, speaks)
		c.Evidence += r.more(c)
	}
	c.Advice = "compare the rows themselves: copies are alike in every column, and leaving one out ends it; different records with one id are a collision, and the host's log tells whether its clock was set then"
}

// back is by how much the time goes back.
func (r *reporting) back(d *descent) time.Duration {
	f := r.observer.fields
	return f.time(d.from).Sub(f.time(d.to))
}

// sameWorker tells of two processes with one worker id at the same time.
func (r *reporting) sameWorker(c *Cause, s subject) {
	f := r.observer.fields
	a := r.observer.sources[s.sources[0]].sighting(s.worker)
	b := r.observer.sources[s.sources[1]].sighting(s.worker)
	if s.worker < 0 || a == nil || b == nil {
		c.Evidence = "both sources have ids of the same worker ids, of the same times"
	} else if s.why == twoSequences {
		c.Evidence = fmt.Sprintf("%s: its ids, %d from %s to %s, are two rising sequences that alternate (%d and %s; its ids go back %s)",
			r.worker(s.worker), a.ids, r.time(a.low), r.time(a.high), a.ids-a.second-a.third, count(a.second, "id"), count(a.descents, "time"))
	} else {
		c.Evidence = fmt.Sprintf("%s: %s in %s and %d in %s, both from %s to %s",
			r.worker(s.worker), count(a.ids, "id"), r.name(s.sources[0]), b.ids, r.name(s.sources[1]), f.timeText(max(a.low, b.low)), f.timeText(min(a.high, b.high)))
	}
	c.Evidence += r.more(c)
	c.Advice = "give each process a worker id of its own; `snowfence workers list` shows who holds which, and a lease from a store can't be held twice"
	if s.why == twoSequences {
		c.Advice += "; but where several threads write to one log, each a little late, rows that stand there twice look like this too: look at the rows themselves"
	}
	less, ok := r.judge.nothing[s.sources]
	if ok {
		c.Evidence += fmt.Sprintf("; %s has no id that the other has not", r.name(less))
	}
	if r.evenly(c, s) || ok {
		c.Advice = "if they are the same records, one that refers to the other or was copied from it, this is no collision; else " + c.Advice
	}
}

// evenly adds that rows were copied, maybe, and reports whether it did.
func (r *reporting) evenly(c *Cause, s subject) bool {
	n := r.judge.evenly[s.sources]
	if n > 0 {
		c.Evidence += fmt.Sprintf("; %d %s in both in the same order with none left out, as rows do that were copied, but the pace is so even that two processes issue them alike", n, ending(n, "stands", "stand"))
	}
	return n > 0
}

func (r *reporting) overlapping(c *Cause, s subject) {
	a := r.observer.sources[s.sources[0]].sighting(s.worker)
	b := r.observer.sources[s.sources[1]].sighting(s.worker)
	first, second := s.sources[0], s.sources[1]
	switch event := r.judge.findings[s].event; {
	case s.worker < 0 || a == nil || b == nil:
		c.Evidence = "terms of the same worker ids overlap"
	case s.why == restarted && event != nil:
		c.Evidence = fmt.Sprintf("%s: at %s its sequence begins again within the tick of %s",
			r.worker(s.worker), r.place(event.at), r.time(event.to)) + r.pace(r.judge.findings[s])
	default:
		if a.low > b.low {
			a, b, first, second = b, a, second, first
		}
		c.Evidence = fmt.Sprintf("%s: its ids in %s end at %s, and those in %s begin at %s, which is before",
			r.worker(s.worker), r.name(first), r.time(a.high), r.name(second), r.time(b.low))
	}
	c.Evidence += r.more(c)
	r.evenly(c, s)
	c.Advice = "let a term begin where the one before it ended, or later: a lease from a store does that; without one, wait at a restart until the clock is past the last id"
}

func (r *reporting) setBack(c *Cause, s subject) {
	seen := r.observer.sources[s.sources[0]].sighting(s.worker)
	f := r.judge.findings[s]
	event := f.event
	if s.worker < 0 || seen == nil || event == nil {
		c.Evidence = "the times of worker ids go back, and ticks repeat"
	} else {
		c.Evidence = fmt.Sprintf("%s: at %s its time goes back by %s, from %s to %s, and ids in between repeat",
			r.worker(s.worker), r.place(event.at), r.back(event), r.time(event.from), r.time(event.to))
		c.Evidence += r.pace(f)
		if seen.descents > 1 {
			c.Evidence += fmt.Sprintf("; it goes back %d times", seen.descents)
		}
	}
	c.Evidence += r.more(c)
	c.Advice = "a generator must not issue for ticks that it has used: let it wait or stop when the clock goes back (`--max-rollback`), keep the worker id's last tick over restarts, and step no clock while it runs"
}

// pace says what of ids that go back tells that a generator issued them.
func (*reporting) pace(f *finding) string {
	if fresh := f.issued - min(f.issued, f.count); fresh > 0 {
		return fmt.Sprintf("; of the %s until it is past that, %d %s new, which copied rows would not be", followers(f.issued), fresh, ending(fresh, "is", "are"))
	}
	if f.event.even() {
		return fmt.Sprintf("; none of the %s is new until it is past that: a generator of so even a pace repeats them all, but rows that were copied look like this too, and are alike in every column", followers(f.issued))
	}
	return fmt.Sprintf("; none of the %s is new, but they leave out some that were there, and run on: rows that were copied by hand can look like this too", followers(f.issued))
}

// followers are ids that follow.
func followers(n uint64) string { return count(n, "id") + " that " + ending(n, "follows", "follow") }

// mixUp tells of ids of two layouts.
func (r *reporting) mixUp(c *Cause, s subject) {
	var parts []string
	seen := map[int]bool{}
	for _, i := range s.sources {
		if !seen[i] {
			seen[i] = true
			parts = append(parts, r.fit(i))
		}
	}
	c.Evidence = strings.Join(parts, "; ")
	c.Advice = "ids of two layouts can't share one column, table or topic: equal numbers mean different things there; keep them apart, or name the layout with --layout if this is a wrong guess"
}

// misfits are warnings of ids that don't fit the layout, where no duplicate is.
func (r *reporting) misfits() []Cause {
	var causes []Cause
	for i, w := range r.observer.sources {
		if w.unfit == 0 || len(causes) == maxWorkers {
			continue
		}
		c := Cause{Kind: MixUp}
		c.Sources = r.names([2]int{i, i})
		r.mixUp(&c, subject{sources: [2]int{i, i}})
		causes = append(causes, c)
	}
	return causes
}

// fit says how the ids of a source fit the layout.
func (r *reporting) fit(i int) string {
	w := r.observer.sources[i]
	name := r.name(i)
	if w.unfit == 0 {
		if g, ok := guessLayout(w.sample, r.now); ok {
			return name + ": " + g.text("id")
		}
		return fmt.Sprintf("%s: no preset suits its ids", name)
	}
	s := fmt.Sprintf("%s: %d of %s %s %s: %s bits above it, or a time after tomorrow; the first is %s at %s",
		name, w.unfit, count(w.ids, "id"), ending(w.unfit, "doesn't fit", "don't fit"), r.layout, ending(w.unfit, "it has", "they have"), w.firstBad.ID, r.placeText(w.firstBad.At))
	if g, ok := guessLayout(w.badSample, r.now); ok {
		s += "; " + g.text("such id")
	}
	return s
}

func (r *reporting) unexplained(c *Cause, s, top subject) {
	c.Advice = "look at the rows themselves: when and by which process each was made"
	switch s.why {
	case noLayout:
		c.Evidence = "no layout was named, and no preset suits half of the ids: nothing is known of their times and worker ids"
		c.Advice = "name the layout, should they have one: --layout; numbers that a database counts up have none, and start anew in each"
	case noWorker:
		c.Evidence = "the layout has no worker id, so which process issued an id can't be seen"
	case sorted:
		c.Evidence = "the ids stand in rising order, so which of them came first can't be seen" + r.workersOf(c)
		c.Advice = "a row that was written twice on end looks like this, and so do a generator that began anew within a tick and whatever was sorted: check the ids in the order in which they were made, or each process's ids as a source of its own"
	case unordered:
		c.Evidence = "the ids stand in no order of time, so which of them came first can't be seen" + r.workersOf(c)
		c.Advice = "check the ids in the order in which they were made, or each process's ids as a source of its own"
	case repeating:
		c.Evidence = "what stands late repeats an id that came before, and nothing of it is new" + r.workersOf(c)
		c.Advice = "rows that were delivered or written twice look like this, and are no collision; so does a second process that issued nothing else: look at the rows themselves"
	case following:
		c.Evidence = "ids follow themselves, with no other of their worker id in between" + r.workersOf(c)
		c.Advice = "a row that was written twice looks like this, and is no collision; so does a generator that began anew within a tick: look at the rows themselves"
	case undecided:
		r.undecided(c, top)
	case counted:
		r.counted(c, r.judge.findings[top])
	case alike:
		r.alike(c, top)
	case often:
		r.often(c, top)
	default:
		c.Evidence = "no rule fits them"
		if r.observer.unwatched > 0 {
			c.Evidence = fmt.Sprintf("there are more than %d worker ids in the sources, and theirs were not watched", maxSightings)
		}
	}
}
