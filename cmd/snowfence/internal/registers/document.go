// Package registers shows a namespace, its worker ids and its counters: as
// JSON for programs, and as text for people.
package registers

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// Instant is a tick with its time, in JSON.
func Instant(l snowfence.Layout, tick snowfence.Tick) page.Object {
	return page.Object{"tick", tick, "time", l.TimeOf(tick).Format(time.RFC3339Nano)}
}

// WorkerOf returns a worker id as JSON has it. The fields of a register are left out if it is missing
// or can't be decoded.
func WorkerOf(r *roster.Roster, w roster.Worker) page.Object {
	x, l := w.Register, r.Layout()
	var number, datacenter *int64
	if w.Number != roster.Stray {
		number = &w.Number
		if of, _, err := l.SplitWorker(w.Number); err == nil && hasDatacenter(l) {
			datacenter = &of
		}
	}
	damage := ""
	if w.Damage != nil {
		damage = text.Message(w.Damage)
	}
	d := page.Object{
		"type", "worker", "worker", number, "datacenter?", datacenter, "state", w.State, "silent", w.Silent(),
		"key", w.Key, "error?", damage, "term", x.Term,
	}
	if x.Term > 0 {
		d = append(d,
			"floor", Instant(l, x.Floor), "until", Instant(l, x.Until), "until_in_seconds", w.Until.Sub(w.Read).Seconds(),
			"holder?", x.Holder, "host?", x.Process.Host, "pid?", x.Process.PID, "version?", x.Process.Version,
			"started?", x.Process.Started, "window_seconds", x.Window.Seconds(), "clock", x.Clock,
			"written_seconds_ago", w.Age().Seconds(), "incarnation?", x.Incarnation, "layout?", x.Layout)
	}
	return append(d, "quarantined", x.Term > 0 && x.Quarantined)
}

// PoolOf returns how full a pool is.
func PoolOf(r *roster.Roster, c roster.Census) page.Object {
	states := page.Object{}
	for _, s := range roster.States() {
		states = append(states, string(s), c.Counts[s])
	}
	var latest page.Object
	if w := c.Latest; w != nil {
		latest = page.Object{"worker", w.Number, "until", Instant(r.Layout(), w.Register.Until)}
	}
	clocks := ClocksOf(r)
	if c.Youngest != nil {
		clocks = append(clocks, "least_seconds_ago", c.Youngest.Age().Seconds(), "most_seconds_ago", c.Oldest.Age().Seconds())
	}
	return page.Object{
		"type", "pool", "namespace", r.Name(), "capacity", c.Capacity, "taken", c.Taken(), "states", states,
		"silent", c.Silent, "outside", c.Outside, "registers", c.Registers, "latest?", latest, "clocks", clocks,
	}
}

// ClocksOf returns the clock by which the times of an answer are judged: the store's, or this host's.
func ClocksOf(r *roster.Roster) page.Object {
	if r != nil {
		if byStore, ahead := r.Reference(); byStore {
			return page.Object{"reference", "store", "host_ahead_seconds", ahead.Seconds()}
		}
	}
	return page.Object{"reference", "host"}
}
