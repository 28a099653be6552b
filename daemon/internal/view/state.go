package view

import (
	"slices"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// State is all that the page shows. Its JSON is the answer of /ui/state, which docs/page.md describes. Ids, ticks and counts
// that can pass 2⁵³ are decimal texts. Times are in UTC. Durations are whole milliseconds unless their name has another unit.
type State struct {
	Taken      time.Time       `json:"taken"` // the daemon's clock when the answer was made
	Daemon     Daemon          `json:"daemon"`
	Problems   []Problem       `json:"problems"` // the worst first; empty while all is well
	Generators []Generator     `json:"generators"`
	Namespaces []Namespace     `json:"namespaces"`
	Events     []Event         `json:"events"`   // the newest first, MaxEvents at most
	Refusals   []front.Refusal `json:"refusals"` // the latest first, MaxRefusals at most
}

// Daemon is the process that answers.
type Daemon struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
}

// Problem is something that an operator should act on.
type Problem struct {
	Severity string    `json:"severity"` // "unsafe", "stopped" (no ids now) or "soon" (ids go on)
	About    string    `json:"about"`    // a generator, a namespace, or tls
	Text     string    `json:"text"`     // one sentence
	Do       string    `json:"do"`       // one sentence; a command stands between backquotes
	Entry    string    `json:"entry"`    // the anchor of the runbook's entry
	Since    time.Time `json:"since,omitzero"`
}

// Generator is one source of ids of this daemon.
type Generator struct {
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace"`
	Store     string  `json:"store"` // its name in stores; empty for the store of the configuration
	Layout    string  `json:"layout,omitempty"`
	Form      string  `json:"form,omitempty"`
	Ready     bool    `json:"ready"`
	StandsBy  bool    `json:"stands_by,omitempty"` // for another process, and nothing is wrong
	Problem   string  `json:"problem,omitempty"`   // the name of the problem's type
	Trouble   string  `json:"trouble,omitempty"`   // a store that does not do its part, although ids go on
	IDs       string  `json:"ids"`                 // minted since the start
	Rate      float64 `json:"rate"`                // ids a second, over the last ten seconds, or up to twenty after a pause
	Last      string  `json:"last,omitempty"`      // an upper bound of all ids so far: the last one of the reserved ticks, or of the reserved numbers

	Worker     *int64    `json:"worker,omitempty"` // held now
	Until      time.Time `json:"until,omitzero"`   // ids go on until then without the store
	Left       int64     `json:"left_ms"`
	Window     int64     `json:"window_ms"`
	Offset     *float64  `json:"offset_ms,omitempty"` // this clock against the store's, when a claim last compared them
	Rollback   int64     `json:"max_rollback_ms,omitempty"`
	Ends       time.Time `json:"ends,omitzero"` // of the layout or of the counter
	EndsSoon   bool      `json:"ends_soon"`
	Counter    *Counter  `json:"counter,omitempty"`
	Waits      string    `json:"waits"`      // requests that waited for a tick or the clock
	Losses     string    `json:"losses"`     // terms that ended against the generator's will
	Extensions string    `json:"extensions"` // of the present term
	Refused    []Refusal `json:"refused"`    // failed requests, by problem; only those above 0
}

// Refusal counts requests that ended in one problem.
type Refusal struct {
	Problem string `json:"problem"`
	Count   string `json:"count"`
}

// Counter is where a counted generator stands.
type Counter struct {
	Name    string    `json:"name"`
	Next    string    `json:"next"`
	Limit   string    `json:"limit"` // "0" where another system has the counter
	Left    string    `json:"left"`
	InHand  string    `json:"in_hand"` // numbers that this daemon has reserved and not minted
	Waiting int       `json:"waiting"`
	RunsOut time.Time `json:"runs_out,omitzero"`
	Guard   string    `json:"guard,omitempty"` // how a failover of its store is kept from repeating numbers
}

// Namespace is a pool of worker ids, with all its holders: this daemon's and others'.
type Namespace struct {
	Name     string           `json:"name"`
	Store    string           `json:"store"`
	Layout   string           `json:"layout"`
	Capacity string           `json:"capacity"` // worker ids
	Read     time.Time        `json:"read"`     // when it was read, by this daemon's clock
	Took     int64            `json:"took_ms"`
	Error    string           `json:"error,omitempty"` // why it could not be read last time; the rest is of the time before
	Counts   map[string]int64 `json:"counts"`          // by state: held, resting, quarantined, foreign, unreadable, used-up, free
	Lent     int64            `json:"lent"`            // of the held ones
	Silent   int64            `json:"silent"`          // of the held ones
	Ended    int64            `json:"ended"`           // of the free ones

	// Cells has a letter for each bin of Bin worker ids, from 0 on, MaxCells at most. The letter is that of the bin's most
	// telling worker id: in the order q quarantined, u unreadable, s held and silent, o held by this daemon, l lent, h held,
	// f foreign, r resting, x used up, e ended; . for a bin of free ones.
	Bin   int64  `json:"bin"`
	Cells string `json:"cells"`

	Holders []Worker `json:"holders"`                    // MaxHolders at most: this daemon's, then silent ones, then by worker id
	Held    int64    `json:"held"`                       // how many there are in all
	Rest    []Worker `json:"rest"`                       // MaxRest at most: unreadable and quarantined ones, ended ones, the latest first, and foreign ones
	Median  *float64 `json:"median_offset_ms,omitempty"` // of the holders' clocks, against the store's clock or else this daemon's
	Changes []Change `json:"changes"`                    // the latest first, MaxChanges at most
	Flags   string   `json:"flags,omitempty"`            // of snowfence's commands, which then mean this namespace; after a space
	Clock   string   `json:"clock"`                      // "store" if offsets are against the store's clock, else "median" of the holders
}

// Listed returns the holders, and then the rest.
func (n Namespace) Listed() []Worker { return slices.Concat(n.Holders, n.Rest) }

// Worker is one worker id and its register.
type Worker struct {
	Number  int64     `json:"worker"`
	State   string    `json:"state"`  // empty if it is not known, as of some in a namespace of more than a million worker ids
	Silent  bool      `json:"silent"` // its holder missed the time to extend, or its clock is behind by more than a window
	Ours    bool      `json:"ours"`   // held by this daemon
	Lent    bool      `json:"lent"`
	Ended   bool      `json:"ended"` // free, and its holder's window ended within the last hour: the holder had not given it back
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Program string    `json:"program,omitempty"` // version, or the borrower's program and token
	Term    int64     `json:"term"`
	From    time.Time `json:"from,omitzero"` // the floor
	Until   time.Time `json:"until,omitzero"`
	Written time.Time `json:"written,omitzero"` // the last write, by the writer's clock
	Window  int64     `json:"window_ms"`
	Age     int64     `json:"age_ms"` // of the last write, by the reference

	// Offset is how far the holder's clock is ahead of the reference, and Error how uncertain that is: its last write
	// came between two looks. Nil until a write was seen.
	Offset *float64 `json:"offset_ms,omitempty"`
	Error  float64  `json:"offset_error_ms,omitempty"`

	Claimant string `json:"claimant,omitempty"` // the error that a claim of this worker id would get; empty if it is free
}

// Change is a worker id that changed hands between two readings of its namespace.
type Change struct {
	Worker int64     `json:"worker"`
	Seen   time.Time `json:"seen"`           // when the second reading began, in whole seconds
	What   string    `json:"what"`           // "claimed", "free again" (given back, or marked free by an operator), "ended" (its window, without a release) or "quarantined"
	From   string    `json:"from,omitempty"` // the holder at the first reading: "pid 7 on host a"
	To     string    `json:"to,omitempty"`   // the holder at the second reading
}

// Event is a line of the log that operators look for.
type Event struct {
	Number int64       `json:"number"` // rises
	Time   time.Time   `json:"time"`
	Level  string      `json:"level"` // INFO, WARN or ERROR
	Text   string      `json:"text"`
	Fields [][2]string `json:"fields"`
	Entry  string      `json:"entry,omitempty"` // the anchor of the runbook's entry
}

// History is the last hour, a point every HistoryStep. Its JSON is the answer of /ui/history. Every series is as long as Times;
// null stands where nothing is known.
type History struct {
	Times   []int64               `json:"times"`    // in seconds since 1970
	Rates   map[string][]*float64 `json:"rates"`    // ids a second, by generator
	Refused map[string][]*float64 `json:"refused"`  // failed requests a second, by generator
	StoreMS map[string][]*float64 `json:"store_ms"` // the mean time of the requests in the step, by store
	Errors  map[string][]*float64 `json:"errors"`   // requests to a store that failed in the step, by store
}

// Bounds of a [State], so that an update stays below 200 KB.
const (
	MaxEvents    = 200
	MaxEventText = 40 << 10 // bytes of all events' texts; older events are left out
	MaxCells     = 4096
	MaxHolders   = 200
	MaxRest      = 50
	MaxChanges   = 50
	MaxRefusals  = 50
	MaxRange     = 256 // worker ids of one answer of /ui/workers
	HistoryStep  = 10 * time.Second
	HistoryFor   = time.Hour
)
