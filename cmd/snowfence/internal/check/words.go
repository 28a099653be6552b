package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
)

// words puts findings into sentences.
type words struct{ *tally }

// names are those of one or two sources.
func (r words) names(s [2]int) []string {
	if s[0] == s[1] {
		return []string{r.name(s[0])}
	}
	return []string{r.name(s[0]), r.name(s[1])}
}

// place is a position in words, with its source.
func (r words) place(at uint64) string {
	p := r.where(at)
	return p.Source + ", " + p.Text
}

// again says where the rows of a line stand, and where they stand once more.
func (r words) again(l line) string {
	a, b := r.where(l.low+l.distance), r.where(l.high+l.distance)
	return fmt.Sprintf("%s to %s stand at %s, %s to %s too, in the same order", r.place(l.low), r.place(l.high), a.Source, a.Text, b.Text)
}

// twice says where a single row stands, and where it stands once more.
func (r words) twice(l line) string {
	return fmt.Sprintf("the id at %s stands at %s too", r.place(l.low), r.where(l.low+l.distance).Text)
}

// pieces adds how many lines there are besides the longest.
func pieces(f *finding) string {
	if f.lines < 2 {
		return ""
	}
	return "; and " + count(uint64(f.lines-1), "more such piece")
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

// worker is a worker id in words.
func (r words) worker(number int64) string {
	l := r.observer.fields.layout
	if dc, worker, err := l.SplitWorker(number); err == nil && l.Workers() > 1 && dc > 0 {
		return fmt.Sprintf("worker id %d (%d of datacenter %d)", number, worker, dc)
	}
	return fmt.Sprintf("worker id %d", number)
}

// more adds how many worker ids there are besides the one that was described.
func (c *Cause) more() string {
	if c.WorkerCount < 2 {
		return ""
	}
	others := uint64(c.WorkerCount - 1)
	return fmt.Sprintf("; and so %s %s", ending(others, "does", "do"), count(others, "more worker id"))
}

// workers adds the worker ids of a cause.
func (c *Cause) workers() string {
	var texts []string
	for _, w := range c.Workers {
		texts = append(texts, fmt.Sprint(w))
	}
	if more := c.WorkerCount - len(c.Workers); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	if len(texts) == 0 {
		return ""
	}
	return "; worker " + ending(uint64(c.WorkerCount), "id ", "ids ") + strings.Join(texts, ", ")
}

// time is that of a tick in words.
func (r words) time(tick uint64) string {
	f := r.observer.fields
	return decode.FormatTime(f.time(tick), f.layout.Unit)
}

// back is by how much the time goes back.
func (r words) back(d *descent) time.Duration {
	f := r.observer.fields
	return f.time(d.from).Sub(f.time(d.to))
}

// fit says how the ids of a source fit the layout.
func (r words) fit(i int) string {
	w := r.observer.sources[i]
	if w.unfit == 0 {
		if g, ok := guessLayout(w.sample, r.Now); ok {
			return r.name(i) + ": " + g.text("id")
		}
		return r.name(i) + ": no preset suits its ids"
	}
	s := fmt.Sprintf("%s: %d of %s %s %s: %s bits above it, or a time after tomorrow; the first is %s at %s",
		r.name(i), w.unfit, count(w.ids, "id"), ending(w.unfit, "doesn't fit", "don't fit"), cmp.Or(r.report.Preset, r.report.Layout), ending(w.unfit, "it has", "they have"), w.firstBad.ID, r.where(w.firstBad.At).Text)
	if g, ok := guessLayout(w.badSample, r.Now); ok {
		s += "; " + g.text("such id")
	}
	return s
}
