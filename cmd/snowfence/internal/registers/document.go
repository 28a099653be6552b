// Package registers shows what a store has of a namespace and its worker ids: as
// JSON for programs, and as text for people.
package registers

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// Instant is a tick with its time, in JSON.
type Instant struct {
	Tick int64  `json:"tick"`
	Time string `json:"time"`
}

// InstantOf returns a tick with its time.
func InstantOf(l snowfence.Layout, tick snowfence.Tick) *Instant {
	return &Instant{int64(tick), l.TimeOf(tick).Format(time.RFC3339Nano)}
}

// Claimant is what a claim of a worker id would get, in JSON.
type Claimant struct {
	Claimable bool   `json:"claimable"`
	Message   string `json:"message,omitempty"`
}

// Worker is a worker id in JSON. A register that can't be decoded is left out.
type Worker struct {
	Type       string       `json:"type"` // "worker"
	Worker     *int64       `json:"worker"`
	Datacenter *int64       `json:"datacenter,omitempty"`
	State      roster.State `json:"state"`
	Silent     bool         `json:"silent"`
	Key        string       `json:"key"`
	Error      string       `json:"error,omitempty"`

	Term int64 `json:"term"` // 0 when there is none
	*Register
	Quarantined bool `json:"quarantined"`

	Claimant *Claimant `json:"claimant,omitempty"`
}

// Register is what a register says, in JSON.
type Register struct {
	Floor       *Instant  `json:"floor"`
	Until       *Instant  `json:"until"`
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

// WorkerOf returns a worker id as JSON has it.
func WorkerOf(r *roster.Roster, w roster.Worker) Worker {
	x, l := w.Register, r.Layout()
	d := Worker{Type: "worker", State: w.State, Silent: w.Silent(), Key: w.Key, Term: x.Term, Quarantined: x.Term > 0 && x.Quarantined}
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
		d.Register = &Register{
			Floor: InstantOf(l, x.Floor), Until: InstantOf(l, x.Until), UntilIn: w.Until.Sub(w.Read).Seconds(),
			Holder: x.Holder, Host: x.Process.Host, PID: x.Process.PID, Version: x.Process.Version, Started: x.Process.Started,
			Window: x.Window.Seconds(), Clock: x.Clock, Written: w.Age().Seconds(), Incarnation: x.Incarnation, Layout: x.Layout,
		}
	}
	return d
}

// Pool is how full a pool is, in JSON.
type Pool struct {
	Type      string                 `json:"type"` // "pool"
	Namespace string                 `json:"namespace"`
	Capacity  int64                  `json:"capacity"`
	Taken     int64                  `json:"taken"`
	States    map[roster.State]int64 `json:"states"`
	Silent    int64                  `json:"silent"`
	Outside   int64                  `json:"outside"`
	Registers int64                  `json:"registers"`
	Latest    *Latest                `json:"latest,omitempty"`
	Clocks    Clocks                 `json:"clocks"`
}

// Latest is the register with the greatest until, in JSON.
type Latest struct {
	Worker int64    `json:"worker"`
	Until  *Instant `json:"until"`
}

// Clocks says what the times of an answer were compared with.
type Clocks struct {
	Reference string   `json:"reference"`                    // "store" or "host"
	HostAhead *float64 `json:"host_ahead_seconds,omitempty"` // of the store's clock
	// Of the held worker ids that are not silent: the least and the most that
	// their clocks were behind the reference when they wrote.
	Least *float64 `json:"least_seconds_ago,omitempty"`
	Most  *float64 `json:"most_seconds_ago,omitempty"`
}

// PoolOf returns how full a pool is.
func PoolOf(r *roster.Roster, c roster.Census) Pool {
	d := Pool{
		Type: "pool", Namespace: r.Name(), Capacity: c.Capacity, Taken: c.Taken(),
		States: map[roster.State]int64{}, Silent: c.Silent, Outside: c.Outside, Registers: c.Registers,
		Clocks: ClocksOf(r),
	}
	for _, s := range roster.States() {
		d.States[s] = c.Counts[s]
	}
	if w := c.Latest; w != nil {
		d.Latest = &Latest{w.Number, InstantOf(r.Layout(), w.Register.Until)}
	}
	if c.Youngest != nil {
		least, most := c.Youngest.Age().Seconds(), c.Oldest.Age().Seconds()
		d.Clocks.Least, d.Clocks.Most = &least, &most
	}
	return d
}

// ClocksOf returns the clocks that the times of an answer are by.
func ClocksOf(r *roster.Roster) Clocks {
	byStore, ahead := r.Reference()
	if !byStore {
		return Clocks{Reference: "host"}
	}
	s := ahead.Seconds()
	return Clocks{Reference: "store", HostAhead: &s}
}
