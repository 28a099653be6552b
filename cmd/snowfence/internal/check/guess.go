package check

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// samples is how many ids of a source are kept to guess by.
const samples = 64

// guess is a preset that was guessed for many ids.
type guess struct {
	preset snowfence.Preset
	fit    int // ids that are plausible under it
	of     int
}

// text says how many of some things the preset suits.
func (g guess) text(thing string) string {
	return fmt.Sprintf("%d of %s looked at %s plausible as %s", g.fit, text.Count(g.of, thing), text.Plural(g.fit, "is", "are"), g.preset.Name)
}

// guessLayout returns the preset under which most of the ids are plausible; of
// several the one that is the likeliest for most single ids. There is none when no
// preset suits half of them, as for numbers that a database counts up.
func guessLayout(ids []snowfence.ID, now time.Time) (guess, bool) {
	fit, first := map[string]int{}, map[string]int{}
	for _, id := range ids {
		for i, c := range decode.Guess(id, now) {
			// Small numbers are of the first days of every layout.
			epoch := c.Layout.Epoch
			if !c.Plausible || !c.Time.After(epoch.Add(now.Sub(epoch)/64)) {
				continue
			}
			fit[c.Preset]++
			if i == 0 {
				first[c.Preset]++
			}
		}
	}
	best := guess{of: len(ids)}
	for _, p := range snowfence.Presets() {
		if n := fit[p.Name]; n > best.fit || n == best.fit && n > 0 && first[p.Name] > first[best.preset.Name] {
			best.preset, best.fit = p, n
		}
	}
	return best, best.fit > 0 && 2*best.fit >= len(ids)
}

// settleLayout settles the layout, with the first ids that there are.
func (c *checker) settleLayout(items []idsort.Item) {
	switch {
	case c.looked || len(items) == 0:
		return
	case c.Layout != nil:
		c.observer.fields = ready(*c.Layout, c.Now)
	default:
		var sample []snowfence.ID
		for i := 0; i < len(items) && len(sample) < samples; i += max(1, len(items)/samples) {
			sample = append(sample, items[i].ID)
		}
		if g, ok := guessLayout(sample, c.Now); ok {
			c.guess = g
			c.observer.fields = ready(g.preset.Layout, c.Now)
		}
	}
	c.looked = true
}

// doubt gives up a guessed layout that does not suit an eighth of all ids or more,
// if these are of no other preset: random numbers have no layout.
func (c *checker) doubt() {
	if c.Layout != nil || c.observer.fields == nil {
		return
	}
	var unfit, ids uint64
	for _, w := range c.observer.sources {
		unfit, ids = unfit+w.unfit, ids+w.ids
		if _, ok := guessLayout(w.badSample, c.Now); ok {
			return
		}
	}
	if unfit*8 < ids {
		return
	}
	c.guess, c.observer.fields = guess{}, nil
	for _, w := range c.observer.sources {
		w.unfit = 0
	}
}

// maxForeign is up to how many sources are compared by their layouts.
const maxForeign = 16

// foreign returns the pairs of sources whose ids are of two layouts: each has a
// guess of its own, and none suits much more than one of them.
func (c *checker) foreign() map[[2]int]bool {
	pairs, sources := map[[2]int]bool{}, c.observer.sources
	if c.Layout != nil || len(sources) > maxForeign {
		return pairs
	}
	guesses := make([]guess, len(sources))
	for i, b := range sources {
		g, ok := guessLayout(b.sample, c.Now)
		if !ok {
			continue
		}
		guesses[i] = g
		for k, a := range sources[:i] {
			if name := guesses[k].preset.Name; name == "" || name == g.preset.Name {
				continue
			}
			both, _ := guessLayout(slices.Concat(a.sample, b.sample), c.Now)
			fewer := min(len(a.sample), len(b.sample))
			pairs[[2]int{k, i}] = both.fit <= both.of-fewer+fewer/10
		}
	}
	return pairs
}
