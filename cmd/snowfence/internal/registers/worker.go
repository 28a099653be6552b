// Package registers shows a namespace, its worker ids and its counters: as
// JSON for programs, and as text for people.
package registers

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
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

// PoolText is the head of the list.
func PoolText(r *roster.Roster, c roster.Census) string {
	var p page.Page
	p.Line("namespace %s: %d of %d worker ids are taken (%.3g %%)", r.Name(), c.Taken(), c.Capacity, 100*float64(c.Taken())/float64(c.Capacity))
	var parts []string
	for _, s := range roster.States() {
		if n := c.Counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
			if s == roster.Held && c.Silent > 0 {
				parts[len(parts)-1] += fmt.Sprintf(" (%d silent)", c.Silent)
			}
		}
	}
	p.Line("%s", strings.Join(parts, ", "))
	if c.Outside > 0 {
		p.Line("%d registers are outside this store's worker ids: see namespace verify", c.Outside)
	}
	if w := c.Latest; w != nil {
		p.Line("until: the latest is %s, %s (worker %d)", w.Until.UTC().Format(time.RFC3339), decode.Relative(w.Until, w.Read), w.Number)
	}
	if byStore, ahead := r.Reference(); byStore {
		p.Line("clocks: times are by the store's clock; this host's is %s", apart(ahead))
	} else {
		p.Line("clocks: times are by this host's clock; the store has none")
	}
	if c.Youngest != nil {
		p.Line("clocks: holders wrote %s (worker %d) to %s (worker %d) by their own",
			ago(c.Youngest.Age()), c.Youngest.Number, ago(c.Oldest.Age()), c.Oldest.Number)
	}
	return p.String()
}

// Columns are the columns of a table of worker ids.
const Columns = ">worker, state, until, , >term, written, holder"

// Rows are the rows of a table of worker ids.
func Rows(workers ...roster.Worker) [][]string {
	rows := make([][]string, len(workers))
	for i, w := range workers {
		number, x := strconv.FormatInt(w.Number, 10), w.Register
		if w.Number == roster.Stray {
			number = "?"
		}
		rows[i] = []string{number, StateText(w), "-", "-", "-", "-", "-"}
		switch {
		case x.Term > 0:
			copy(rows[i][2:], []string{
				w.Until.UTC().Format(time.RFC3339), decode.Relative(w.Until, w.Read), strconv.FormatInt(x.Term, 10), ago(w.Age()), holderText(w),
			})
		case w.Exists:
			rows[i][6] = w.Key
		}
	}
	return rows
}

// StateText is the state, with a remark for a silent holder, an unclaimed worker id, or one that is held in quarantine.
func StateText(w roster.Worker) string {
	switch {
	case w.Silent():
		return string(w.State) + ", silent"
	case w.State == roster.Free && !w.Exists:
		return "free, never claimed"
	case w.State == roster.Quarantined && w.Register.Holder != "" && w.Until.After(w.Read):
		return "quarantined, held"
	}
	return string(w.State)
}

// holderText is who holds or held a worker id, as short as can be.
func holderText(w roster.Worker) string {
	if w.Register.Holder == "" {
		return "-"
	}
	x := w.Register.Process
	holder := fmt.Sprintf("%s/%d", cmp.Or(x.Host, "-"), x.PID)
	if x.Host == "" && x.PID == 0 {
		holder = "unnamed"
	}
	if _, lent := x.Lent(); lent {
		holder += " " + x.Version
	}
	return holder
}

// ago is an age by another clock, which may be ahead.
func ago(age time.Duration) string {
	if age < 0 {
		return short(-age) + " ahead"
	}
	return short(age) + " ago"
}

// apart is the distance of a clock from another one.
func apart(ahead time.Duration) string {
	if ahead < 0 {
		return short(-ahead) + " behind"
	}
	return short(ahead) + " ahead of it"
}

// short writes a duration with as many digits as matter.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	var start time.Time
	return strings.TrimPrefix(decode.Relative(start.Add(d), start), "in ")
}

func hasDatacenter(l snowfence.Layout) bool { return l.Bits(snowfence.Datacenter) > 0 }
