package check

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/decode"
)

// A layout is guessed by so many ids. The time of an id may be of tomorrow: clocks differ.
const (
	samples  = 64
	tomorrow = 24 * time.Hour
)

// fields is a layout that is prepared to take many ids apart.
type fields struct {
	layout                     snowfence.Layout
	preset                     string // its name, or empty
	mask                       uint64 // of the bits that the layout has
	latest                     uint64 // the highest tick that an id may have
	tick, dc, worker, sequence part
}

// part is a field of an id.
type part struct {
	shift, bits int
	mask        uint64
}

func (p part) of(id uint64) uint64 { return id >> p.shift & p.mask }

// prepare prepares a layout.
func prepare(l snowfence.Layout, preset string, now time.Time) *fields {
	of := func(kind snowfence.FieldKind) part { return part{l.Shift(kind), l.Bits(kind), 1<<l.Bits(kind) - 1} }
	return &fields{
		layout: l, preset: preset, mask: ^uint64(0) >> (64 - l.TotalBits()), latest: uint64(max(0, l.TickAt(now.Add(tomorrow)))),
		tick: of(snowfence.Time), dc: of(snowfence.Datacenter), worker: of(snowfence.Worker), sequence: of(snowfence.Sequence),
	}
}

// fits reports whether an id may be an issued id of the layout.
func (f *fields) fits(id uint64) bool { return id&^f.mask == 0 && f.tick.of(id) <= f.latest }

// number is the worker id with its datacenter.
func (f *fields) number(id uint64) int64 {
	return int64(f.dc.of(id)<<f.worker.bits | f.worker.of(id))
}

// rank orders the ids of one worker id as they are issued.
func (f *fields) rank(id uint64) uint64 { return f.tick.of(id)<<f.sequence.bits | f.sequence.of(id) }

// time writes the time of a tick.
func (f *fields) time(tick uint64) string {
	return decode.FormatTime(f.layout.TimeOf(snowfence.Tick(tick)), f.layout.Unit)
}

// guess returns the preset that is the likeliest for most ids. There is none when that is
// less than half of the ids, as for numbers that a database counts up.
func guess(items []idsort.Item, now time.Time) (best snowfence.Preset, ok bool) {
	votes, looked := map[string]int{}, 0
	for i := 0; i < len(items); i += max(1, len(items)/samples) {
		looked++
		// Small numbers are of the first days of every layout.
		all := decode.Guess(items[i].ID, now)
		if len(all) == 0 || !all[0].Plausible {
			continue
		}
		if c := all[0]; c.At.Sub(c.By.Epoch) > now.Sub(c.By.Epoch)/64 {
			votes[c.Preset]++
		}
	}
	for _, p := range snowfence.Presets() {
		if votes[p.Name] > votes[best.Name] {
			best = p
		}
	}
	return best, 2*votes[best.Name] >= looked
}

// settleLayout settles the layout by the first ids.
func (c *checker) settleLayout(items []idsort.Item) {
	if c.looked || len(items) == 0 {
		return
	}
	c.looked = true
	if c.Layout != nil {
		c.watcher.fields = prepare(*c.Layout, c.Preset, c.Now)
	} else if p, ok := guess(items, c.Now); ok {
		c.watcher.fields = prepare(p.Layout, p.Name, c.Now)
	}
}
