package check

import (
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
)

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
	return "; worker " + ending(uint64(c.WorkerCount), "id", "ids") + " " + strings.Join(texts, ", ")
}

// more says how many worker ids there are besides the one that was described.
func (r *reporting) more(c *Cause) string {
	if c.WorkerCount < 2 {
		return ""
	}
	others := uint64(c.WorkerCount - 1)
	return fmt.Sprintf("; and so %s %s", ending(others, "does", "do"), count(others, "more worker id"))
}

// text says how many of some things a preset suits.
func (g guess) text(thing string) string {
	return fmt.Sprintf("%d of %s looked at %s plausible as %s", g.fit, count(uint64(g.of), thing), ending(uint64(g.fit), "is", "are"), g.preset.Name)
}

// count writes a number of things.
func count(n uint64, thing string) string {
	return fmt.Sprintf("%d %s", n, ending(n, thing, thing+"s"))
}

// ending is the word that goes with a number.
func ending(n uint64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
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
