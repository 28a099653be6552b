package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
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

// workerDocument is a worker id in JSON. What there is only with a register that
// can be decoded is left out without one.
type workerDocument struct {
	Type       string       `json:"type"` // "worker"
	Worker     *int64       `json:"worker"`
	Datacenter *int64       `json:"datacenter,omitempty"`
	State      roster.State `json:"state"`
	Silent     bool         `json:"silent"`
	Key        string       `json:"key"`
	Error      string       `json:"error,omitempty"`

	Term        int64    `json:"term"` // 0 when there is none
	Floor       *instant `json:"floor,omitempty"`
	Until       *instant `json:"until,omitempty"`
	UntilIn     *float64 `json:"until_in_seconds,omitempty"`
	Holder      string   `json:"holder,omitempty"`
	Host        string   `json:"host,omitempty"`
	PID         int      `json:"pid,omitempty"`
	Version     string   `json:"version,omitempty"`
	Started     string   `json:"started,omitempty"`
	Window      *float64 `json:"window_seconds,omitempty"`
	Clock       string   `json:"clock,omitempty"`
	Written     *float64 `json:"written_seconds_ago,omitempty"`
	Quarantined bool     `json:"quarantined"`
	Incarnation string   `json:"incarnation,omitempty"`
	Layout      string   `json:"layout,omitempty"`

	Claimant *claimant `json:"claimant,omitempty"`
}

func documentOf(r *roster.Roster, w roster.Worker) workerDocument {
	d := workerDocument{Type: "worker", State: w.State, Silent: w.Silent(), Key: w.Key}
	if w.Number != roster.Stray {
		d.Worker = &w.Number
		if datacenter, _, err := r.Layout().SplitWorker(w.Number); err == nil && hasDatacenter(r.Layout()) {
			d.Datacenter = &datacenter
		}
	}
	if w.Damage != nil {
		d.Error = message(w.Damage)
	}
	x := w.Register
	if x.Term == 0 {
		return d
	}
	seconds := func(d time.Duration) *float64 {
		s := d.Seconds()
		return &s
	}
	d.Term, d.Holder, d.Quarantined, d.Incarnation, d.Layout = x.Term, x.Holder, x.Quarantined, x.Incarnation, x.Layout
	d.Floor, d.Until = instantOf(r.Layout(), x.Floor), instantOf(r.Layout(), x.Until)
	d.UntilIn, d.Window, d.Written = seconds(w.Until.Sub(w.Read)), seconds(x.Window), seconds(w.Age())
	d.Host, d.PID, d.Version = x.Process.Host, x.Process.PID, x.Process.Version
	if !x.Process.Started.IsZero() {
		d.Started = x.Process.Started.Format(time.RFC3339Nano)
	}
	d.Clock = x.Clock.Format(time.RFC3339Nano)
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
	Clocks    clocksDocument         `json:"clocks"`
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
	var b strings.Builder
	full := 100 * float64(c.Taken()) / float64(c.Capacity)
	fmt.Fprintf(&b, "namespace %s: %d of %d worker ids are taken (%.3g %%)\n", r.Name(), c.Taken(), c.Capacity, full)
	var parts []string
	for _, s := range roster.States() {
		if n := c.Counts[s]; n > 0 {
			part := fmt.Sprintf("%d %s", n, s)
			if s == roster.Held && c.Silent > 0 {
				part += fmt.Sprintf(" (%d silent)", c.Silent)
			}
			parts = append(parts, part)
		}
	}
	b.WriteString(strings.Join(parts, ", ") + "\n")
	if c.Outside > 0 {
		fmt.Fprintf(&b, "%d registers are none of this store's worker ids: see namespace verify\n", c.Outside)
	}
	if byStore, ahead := r.Reference(); byStore {
		fmt.Fprintf(&b, "clocks: times are by the store's clock; this host's is %s\n", apart(ahead))
	} else {
		b.WriteString("clocks: times are by this host's clock; the store has none\n")
	}
	if c.Youngest != nil {
		fmt.Fprintf(&b, "clocks: holders wrote %s (worker %d) to %s (worker %d) by their own\n",
			ago(c.Youngest.Age()), c.Youngest.Number, ago(c.Oldest.Age()), c.Oldest.Number)
	}
	return b.String()
}

// workerColumns are the columns of a table of worker ids.
func workerColumns(full bool) []column {
	columns := []column{{"worker", true}, {"state", false}, {"until", false}, {"", false}, {"term", true}, {"written", false}, {"holder", false}}
	if full {
		columns = append(columns, column{"version", false}, column{"window", false})
	}
	return columns
}

func workerRows(workers []roster.Worker, full bool) [][]string {
	rows := make([][]string, len(workers))
	for i, w := range workers {
		number := strconv.FormatInt(w.Number, 10)
		if w.Number == roster.Stray {
			number = "?"
		}
		row := []string{number, stateText(w), "-", "-", "-", "-", w.Key}
		if w.Register.Term > 0 {
			row = []string{
				number, stateText(w), w.Until.UTC().Format(time.RFC3339), decode.Relative(w.Until, w.Read),
				strconv.FormatInt(w.Register.Term, 10), written(w), holderText(w),
			}
		} else if !w.Exists {
			row[6] = "-"
		}
		if full {
			version, window := "-", "-"
			if w.Register.Term > 0 {
				version, window = orDash(w.Register.Process.Version), w.Register.Window.String()
			}
			row = append(row, version, window)
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

// written says when a register was written.
func written(w roster.Worker) string { return ago(w.Age()) }

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

func referenceName(r *roster.Roster) string {
	if byStore, _ := r.Reference(); byStore {
		return "the store's clock"
	}
	return "this host's clock"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// unless is the text if the condition does not hold.
func unless(condition bool, text string) string {
	if condition {
		return ""
	}
	return text
}
