package check

import (
	"cmp"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
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

// worker is a worker id in words.
func (r words) worker(number int64) string {
	l := r.observer.fields.layout
	if dc, worker, err := l.SplitWorker(number); err == nil && l.Workers() > 1 && dc > 0 {
		return fmt.Sprintf("worker id %d (%d of datacenter %d)", number, worker, dc)
	}
	return fmt.Sprintf("worker id %d", number)
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
		r.name(i), w.unfit, text.Count(w.ids, "id"), text.Plural(w.unfit, "doesn't fit", "don't fit"), cmp.Or(r.report.Preset, r.report.Layout), text.Plural(w.unfit, "it has", "they have"), w.firstBad.ID, r.where(w.firstBad.At).Text)
	if g, ok := guessLayout(w.badSample, r.Now); ok {
		s += "; " + g.text("such id")
	}
	return s
}
