package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// instant is a tick with its time, in JSON.
type instant struct {
	Tick int64  `json:"tick"`
	Time string `json:"time"`
}

func instantOf(l snowfence.Layout, tick snowfence.Tick) *instant {
	return &instant{int64(tick), l.TimeOf(tick).Format(time.RFC3339Nano)}
}

// claimant is what a claim of a worker id would get, in JSON.
type claimant struct {
	Claimable bool   `json:"claimable"`
	Message   string `json:"message,omitempty"`
}

// workerDocument is a worker id in JSON. A register that can't be decoded is left out.
type workerDocument struct {
	Type       string       `json:"type"` // "worker"
	Worker     *int64       `json:"worker"`
	Datacenter *int64       `json:"datacenter,omitempty"`
	State      roster.State `json:"state"`
	Silent     bool         `json:"silent"`
	Key        string       `json:"key"`
	Error      string       `json:"error,omitempty"`

	Term int64 `json:"term"` // 0 when there is none
	*registerDocument
	Quarantined bool `json:"quarantined"`

	Claimant *claimant `json:"claimant,omitempty"`
}

// registerDocument is what a register says, in JSON.
type registerDocument struct {
	Floor       *instant  `json:"floor"`
	Until       *instant  `json:"until"`
	UntilIn     float64   `json:"until_in_seconds"`
	Holder      string    `json:"holder,omitempty"`
	Host        string    `json:"host,omitempty"`
	PID         int       `json:"pid,omitempty"`
	Version     string    `json:"version,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Window      float64   `json:"window_seconds"`
	Clock       time.Time `json:"clock"`
	Written     float64   `json:"written_seconds_ago"`
	Incarnation string    `json:"incarnation,omitempty"`
	Layout      string    `json:"layout,omitempty"`
}

func documentOf(r *roster.Roster, w roster.Worker) workerDocument {
	x, l := w.Register, r.Layout()
	d := workerDocument{Type: "worker", State: w.State, Silent: w.Silent(), Key: w.Key, Term: x.Term, Quarantined: x.Term > 0 && x.Quarantined}
	if w.Number != roster.Stray {
		d.Worker = &w.Number
		if datacenter, _, err := l.SplitWorker(w.Number); err == nil && hasDatacenter(l) {
			d.Datacenter = &datacenter
		}
	}
	if w.Damage != nil {
		d.Error = text.Message(w.Damage)
	}
	if x.Term > 0 {
		d.registerDocument = &registerDocument{
			Floor: instantOf(l, x.Floor), Until: instantOf(l, x.Until), UntilIn: w.Until.Sub(w.Read).Seconds(),
			Holder: x.Holder, Host: x.Process.Host, PID: x.Process.PID, Version: x.Process.Version, Started: x.Process.Started,
			Window: x.Window.Seconds(), Clock: x.Clock, Written: w.Age().Seconds(), Incarnation: x.Incarnation, Layout: x.Layout,
		}
	}
	return d
}

// poolDocument is how full a pool is, in JSON.
type poolDocument struct {
	Type      string                 `json:"type"` // "pool"
	Namespace string                 `json:"namespace"`
	Capacity  int64                  `json:"capacity"`
	Taken     int64                  `json:"taken"`
	States    map[roster.State]int64 `json:"states"`
	Silent    int64                  `json:"silent"`
	Outside   int64                  `json:"outside"`
	Registers int64                  `json:"registers"`
	Latest    *latestDocument        `json:"latest,omitempty"`
	Clocks    clocksDocument         `json:"clocks"`
}

// latestDocument is the register with the greatest until, in JSON.
type latestDocument struct {
	Worker int64    `json:"worker"`
	Until  *instant `json:"until"`
}

// clocksDocument says what the times of an answer were compared with.
type clocksDocument struct {
	Reference string   `json:"reference"`                    // "store" or "host"
	HostAhead *float64 `json:"host_ahead_seconds,omitempty"` // of the store's clock
	// Of the held worker ids that are not silent: the least and the most that
	// their clocks were behind the reference when they wrote.
	Least *float64 `json:"least_seconds_ago,omitempty"`
	Most  *float64 `json:"most_seconds_ago,omitempty"`
}

func poolOf(r *roster.Roster, c roster.Census) poolDocument {
	d := poolDocument{
		Type: "pool", Namespace: r.Name(), Capacity: c.Capacity, Taken: c.Taken(),
		States: map[roster.State]int64{}, Silent: c.Silent, Outside: c.Outside, Registers: c.Registers,
		Clocks: clocksOf(r),
	}
	for _, s := range roster.States() {
		d.States[s] = c.Counts[s]
	}
	if w := c.Latest; w != nil {
		d.Latest = &latestDocument{w.Number, instantOf(r.Layout(), w.Register.Until)}
	}
	if c.Youngest != nil {
		least, most := c.Youngest.Age().Seconds(), c.Oldest.Age().Seconds()
		d.Clocks.Least, d.Clocks.Most = &least, &most
	}
	return d
}

func clocksOf(r *roster.Roster) clocksDocument {
	byStore, ahead := r.Reference()
	if !byStore {
		return clocksDocument{Reference: "host"}
	}
	s := ahead.Seconds()
	return clocksDocument{Reference: "store", HostAhead: &s}
}

// poolText is the head of the list.
func poolText(r *roster.Roster, c roster.Census) string {
	var p page
	p.line("namespace %s: %d of %d worker ids are taken (%.3g %%)", r.Name(), c.Taken(), c.Capacity, 100*float64(c.Taken())/float64(c.Capacity))
	var parts []string
	for _, s := range roster.States() {
		if n := c.Counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
			if s == roster.Held && c.Silent > 0 {
				parts[len(parts)-1] += fmt.Sprintf(" (%d silent)", c.Silent)
			}
		}
	}
	p.line("%s", strings.Join(parts, ", "))
	if c.Outside > 0 {
		p.line("%d registers are none of this store's worker ids: see namespace verify", c.Outside)
	}
	if w := c.Latest; w != nil {
		p.line("until: the latest is %s, %s (worker %d)", w.Until.UTC().Format(time.RFC3339), decode.Relative(w.Until, w.Read), w.Number)
	}
	if byStore, ahead := r.Reference(); byStore {
		p.line("clocks: times are by the store's clock; this host's is %s", apart(ahead))
	} else {
		p.line("clocks: times are by this host's clock; the store has none")
	}
	if c.Youngest != nil {
		p.line("clocks: holders wrote %s (worker %d) to %s (worker %d) by their own",
			ago(c.Youngest.Age()), c.Youngest.Number, ago(c.Oldest.Age()), c.Oldest.Number)
	}
	return p.String()
}

// workerText is one worker id in full.
func workerText(r *roster.Roster, w roster.Worker) string {
	var p page
	line := func(label, format string, args ...any) { p.line("  %-13s "+format, append([]any{label}, args...)...) }
	p.line("worker %d of namespace %s: %s", w.Number, r.Name(), stateText(w))
	if datacenter, worker, err := r.Layout().SplitWorker(w.Number); err == nil && hasDatacenter(r.Layout()) {
		line("datacenter", "%d", datacenter)
		line("worker", "%d", worker)
	}
	line("key", "%s", w.Key)
	if w.Damage != nil {
		line("unreadable", "%s", text.Message(w.Damage))
	}
	if x := w.Register; x.Term > 0 {
		at := func(t time.Time) string {
			return decode.FormatTime(t, r.Layout().Unit) + "  " + decode.Relative(t, w.Read)
		}
		// namespaced shows what the namespace has, too, where that differs.
		namespaced := func(label, own, namespaces string) {
			if own != namespaces {
				own += " (the namespace's is " + namespaces + ")"
			}
			line(label, "%s", own)
		}
		line("term", "%d", x.Term)
		if x.Holder == "" {
			line("holder", "none; the last write was by %s", x.Process)
		} else {
			line("holder", "%s", x.Process)
		}
		line("version", "%s", orDash(x.Process.Version))
		if !x.Process.Started.IsZero() {
			line("started", "%s", at(x.Process.Started))
		}
		line("nonce", "%s", orDash(x.Holder))
		line("floor", "tick %d  %s", x.Floor, at(w.Floor))
		line("until", "tick %d  %s", x.Until, at(w.Until))
		line("window", "%s", x.Window)
		reference := "this host's clock"
		if byStore, _ := r.Reference(); byStore {
			reference = "the store's clock"
		}
		line("written", "%s by the writer's clock, %s by %s", decode.FormatTime(x.Clock, time.Millisecond), ago(w.Age()), reference)
		line("quarantined", "%s", map[bool]string{true: "yes", false: "no"}[x.Quarantined])
		namespaced("incarnation", x.Incarnation, r.Record().Incarnation)
		namespaced("layout", x.Layout, r.Record().Layout)
	}
	if refusal := r.Refusal(w); refusal != nil {
		line("a claimant", "is told: %s", text.Message(refusal))
	} else {
		line("a claimant", "gets it: term %d, from tick %d on", w.Register.Term+1, max(w.Register.Until, r.Layout().TickAt(w.Read)))
	}
	return p.String()
}

// The columns of a table of worker ids.
const (
	workerColumns     = ">worker, state, until, , >term, written, holder"
	workerColumnsFull = workerColumns + ", version, window"
)

func workerRows(workers []roster.Worker, full bool) [][]string {
	rows := make([][]string, len(workers))
	for i, w := range workers {
		number, x := strconv.FormatInt(w.Number, 10), w.Register
		if w.Number == roster.Stray {
			number = "?"
		}
		row := []string{number, stateText(w), "-", "-", "-", "-", "-", "-", "-"}
		switch {
		case x.Term > 0:
			copy(row[2:], []string{
				w.Until.UTC().Format(time.RFC3339), decode.Relative(w.Until, w.Read), strconv.FormatInt(x.Term, 10),
				ago(w.Age()), holderText(w), orDash(x.Process.Version), x.Window.String(),
			})
		case w.Exists:
			row[6] = w.Key
		}
		if !full {
			row = row[:7]
		}
		rows[i] = row
	}
	return rows
}

// stateText is the state with what is special about it.
func stateText(w roster.Worker) string {
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
	if x.Host == "" && x.PID == 0 {
		return "unnamed"
	}
	return fmt.Sprintf("%s/%d", orDash(x.Host), x.PID)
}

// ago says how long ago something was, by somebody else's clock.
func ago(age time.Duration) string {
	if age < 0 {
		return short(-age) + " ahead"
	}
	return short(age) + " ago"
}

// apart says how far a clock is from another.
func apart(ahead time.Duration) string {
	if ahead < 0 {
		return short(-ahead) + " behind"
	}
	return short(ahead) + " ahead of it"
}

// short writes a duration to what matters of it.
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
