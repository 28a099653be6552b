package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
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
	case MixUp:
		r.mixUp(&c, g)
	default:
		r.unexplained(&c, g)
	}
	return c
}

func (r *reporting) copies(c *Cause, f *finding) {
	l := f.longest
	of := fmt.Sprintf("%s to %s stand %s too, in the same order", r.place(l.aLow), r.place(l.aHigh), r.span(l.aLow+l.distance, l.aHigh+l.distance))
	c.Evidence = fmt.Sprintf("%d rows in a row: %s", l.count, of)
	if f.lines > 1 {
		c.Evidence += fmt.Sprintf("; and %d more such pieces", f.lines-1)
	}
	c.Advice = "most likely the same rows were exported or loaded twice, which is no collision: leave one copy out and check again; should they be different records, one process issued as a clone of the other"
}

// sameWorker tells of two processes with one worker id at the same time.
func (r *reporting) sameWorker(c *Cause, s subject) {
	f := r.observer.fields
	a := r.observer.sources[s.sources[0]].sighting(s.worker)
	b := r.observer.sources[s.sources[1]].sighting(s.worker)
	if s.worker < 0 || a == nil || b == nil {
		c.Evidence = "both sources have ids of the same worker ids, of the same times"
	} else if s.why == twoSequences {
		c.Evidence = fmt.Sprintf("%s: its ids, %d from %s to %s, are two rising sequences that alternate (%d and %d ids; its ids go back %d times)",
			r.worker(s.worker), a.ids, r.time(a.low), r.time(a.high), a.ids-a.second-a.third, a.second, a.descents)
	} else {
		c.Evidence = fmt.Sprintf("%s: %d ids in %s and %d in %s, both from %s to %s",
			r.worker(s.worker), a.ids, r.name(s.sources[0]), b.ids, r.name(s.sources[1]), f.timeText(max(a.low, b.low)), f.timeText(min(a.high, b.high)))
	}
	c.Evidence += r.more(c)
	c.Advice = "give each process a worker id of its own; `snowfence workers list` shows who holds which, and a lease from a store can't be held twice"
	if less, ok := r.judge.nothing[s.sources]; ok {
		c.Evidence += fmt.Sprintf("; %s has no id that the other has not", r.name(less))
		c.Advice = "if they are the same records, one that refers to the other or was copied from it, this is no collision; else " + c.Advice
	}
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
			r.worker(s.worker), r.place(event.at), r.time(event.to))
	default:
		if a.low > b.low {
			a, b, first, second = b, a, second, first
		}
		c.Evidence = fmt.Sprintf("%s: its ids in %s end at %s, and those in %s begin at %s, which is before",
			r.worker(s.worker), r.name(first), r.time(a.high), r.name(second), r.time(b.low))
	}
	c.Evidence += r.more(c)
	c.Advice = "let a term begin where the one before it ended, or later: a lease from a store does that; without one, wait at a restart until the clock is past the last id"
}

func (r *reporting) setBack(c *Cause, s subject) {
	f := r.observer.fields
	seen := r.observer.sources[s.sources[0]].sighting(s.worker)
	event := r.judge.findings[s].event
	if s.worker < 0 || seen == nil || event == nil {
		c.Evidence = "the times of worker ids go back, and ticks repeat"
	} else {
		by := f.time(event.from).Sub(f.time(event.to))
		c.Evidence = fmt.Sprintf("%s: at %s its time goes back by %s, from %s to %s, and ids in between repeat",
			r.worker(s.worker), r.place(event.at), by, r.time(event.from), r.time(event.to))
		if seen.descents > 1 {
			c.Evidence += fmt.Sprintf("; it goes back %d times", seen.descents)
		}
	}
	c.Evidence += r.more(c)
	c.Advice = "a generator must not issue for ticks that it has used: let it wait or stop when the clock goes back (`--max-rollback`), keep the worker id's last tick over restarts, and step no clock while it runs"
}

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
			return fmt.Sprintf("%s: %d of %d ids looked at are plausible as %s", name, g.fit, g.of, g.preset.Name)
		}
		return fmt.Sprintf("%s: no preset suits its ids", name)
	}
	s := fmt.Sprintf("%s: %d of %d ids don't fit %s: they have bits above it, or a time after tomorrow; the first is %s at %s",
		name, w.unfit, w.ids, r.layoutName(), w.firstBad.ID, r.placeText(w.firstBad.At))
	if g, ok := guessLayout(w.badSample, r.now); ok {
		s += fmt.Sprintf("; %d of %d such ids looked at are plausible as %s", g.fit, g.of, g.preset.Name)
	}
	return s
}

func (r *reporting) unexplained(c *Cause, s subject) {
	c.Advice = "look at the rows themselves: when and by which process each was made"
	switch s.why {
	case noLayout:
		c.Evidence = "no layout was named, and no preset suits half of the ids: nothing is known of their times and worker ids"
		c.Advice = "name the layout, should they have one: --layout; numbers that a database counts up have none, and start anew in each"
	case noWorker:
		c.Evidence = "the layout has no worker id, so which process issued an id can't be seen"
	case sorted:
		c.Evidence = "the ids stand in rising order, so which of them came first can't be seen" + r.workersOf(c)
		c.Advice = "check the ids in the order in which they were made, or each process's ids as a source of its own"
	case unordered:
		c.Evidence = "the ids stand in no order of time, so which of them came first can't be seen" + r.workersOf(c)
		c.Advice = "check the ids in the order in which they were made, or each process's ids as a source of its own"
	case repeating:
		c.Evidence = "what stands late repeats an id that came before, and nothing of it is new" + r.workersOf(c)
		c.Advice = "rows that were delivered or written twice look like this, and are no collision; so does a second process that issued nothing else: look at the rows themselves"
	default:
		c.Evidence = "no rule fits them"
		if r.observer.unwatched > 0 {
			c.Evidence = fmt.Sprintf("there are more than %d worker ids in the sources, and theirs were not watched", maxSightings)
		}
	}
}

// workersOf lists the worker ids of a cause.
func (r *reporting) workersOf(c *Cause) string {
	if len(c.Workers) == 0 {
		return ""
	}
	texts := make([]string, 0, len(c.Workers))
	for _, w := range c.Workers {
		texts = append(texts, fmt.Sprint(w))
	}
	if more := c.WorkerCount - len(c.Workers); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return "; worker ids " + strings.Join(texts, ", ")
}

// more says how many worker ids there are besides the one that was described.
func (r *reporting) more(c *Cause) string {
	if c.WorkerCount < 2 {
		return ""
	}
	return fmt.Sprintf("; and so do %d more worker ids", c.WorkerCount-1)
}

func (r *reporting) worker(number int64) string {
	l := r.observer.fields.layout
	if dc, worker, err := l.SplitWorker(number); err == nil && l.Workers() > 1 && dc > 0 {
		return fmt.Sprintf("worker id %d (%d of datacenter %d)", number, worker, dc)
	}
	return fmt.Sprintf("worker id %d", number)
}

func (r *reporting) time(tick uint64) string { return r.observer.fields.timeText(tick) }

// timeText writes the time of a tick.
func (f *fields) timeText(tick uint64) string {
	return decode.FormatTime(f.time(tick), f.layout.Unit)
}

// reporting turns what was found into words.
type reporting struct {
	observer *observer
	judge    *judge
	tops     []uint64
	sources  []Source
	places   []func(at uint64) string
	now      time.Time
	layout   string
}

func (r *reporting) name(i int) string { return r.sources[i].Name }

// names are those of one or two sources.
func (r *reporting) names(s [2]int) []string {
	if s[0] == s[1] {
		return []string{r.name(s[0])}
	}
	return []string{r.name(s[0]), r.name(s[1])}
}

func (r *reporting) layoutName() string { return r.layout }

// where turns a position into a place.
func (r *reporting) where(at uint64) Place {
	i := sourceOf(r.tops, at)
	at -= r.observer.sources[i].base
	return Place{Source: r.name(i), At: at, Text: r.places[i](at)}
}

// place is a position in words, with its source.
func (r *reporting) place(at uint64) string {
	p := r.where(at)
	return p.Source + ", " + p.Text
}

// placeText is a position in words.
func (r *reporting) placeText(at uint64) string { return r.where(at).Text }

// span is two positions of one source in words.
func (r *reporting) span(from, to uint64) string {
	a, b := r.where(from), r.where(to)
	return fmt.Sprintf("at %s, %s to %s", a.Source, a.Text, b.Text)
}
