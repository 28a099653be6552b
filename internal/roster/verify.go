package roster

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// Severity is how bad a [Finding] is.
type Severity string

// The severities.
const (
	// Fault is what can't be under the protocol: damage, a copied register or
	// process, somebody else's writes.
	Fault Severity = "error"
	// Warning is what can be but should not: a worker id that nobody can claim
	// for long, a clock that is off.
	Warning Severity = "warning"
	// Note is what may have a good reason.
	Note Severity = "note"
)

// Check names what a [Finding] is about.
type Check string

// The checks.
const (
	// CheckKey finds keys that are no worker ids of the layout.
	CheckKey Check = "key"
	// CheckReadable finds registers that can't be read or decoded.
	CheckReadable Check = "readable"
	// CheckNamespace finds registers of another incarnation or layout.
	CheckNamespace Check = "namespace"
	// CheckDatacenter finds worker ids of datacenters that are not in the record.
	CheckDatacenter Check = "datacenter"
	// CheckHorizon finds bounds beyond the layout's horizon, and worker ids that
	// are used up to it.
	CheckHorizon Check = "horizon"
	// CheckAhead finds bounds further ahead than any right clock makes them.
	CheckAhead Check = "ahead"
	// CheckClock finds registers that were written by a clock which was ahead of
	// the reference.
	CheckClock Check = "clock"
	// CheckHolder finds a claim's nonce in two registers: one was copied, or the
	// process that drew it.
	CheckHolder Check = "holder"
	// CheckWrite finds the mark of one write in two registers: one was copied.
	CheckWrite Check = "write"
	// CheckProcess finds one host and pid as the holder of several worker ids.
	CheckProcess Check = "process"
)

// Finding is something that Verify found.
type Finding struct {
	Severity Severity
	Check    Check
	// Workers are the worker numbers that it is about; [Stray] for a key that is
	// none.
	Workers []int64
	// Key is the register's key, of the first of several.
	Key string
	// Text says what is wrong, and what may be the reason.
	Text string
}

// Verdict counts what [Roster.Verify] read and found.
type Verdict struct {
	Registers, Faults, Warnings, Notes int64
}

// Verify reads every register and yields what is wrong with it, in any order,
// and what can only be seen from all of them at the end. It keeps some hundred
// bytes a held register. Registers may change while it reads, each on its own;
// none of its checks compares two of them in a way that this could fool, but for
// a process that gives one worker id up and claims another. Into verdict, which
// may be nil, it counts. An error ends the sequence.
func (r *Roster) Verify(ctx context.Context, verdict *Verdict) iter.Seq2[Finding, error] {
	if verdict == nil {
		verdict = new(Verdict)
	}
	return func(yield func(Finding, error) bool) {
		report := func(f Finding) bool {
			switch f.Severity {
			case Fault:
				verdict.Faults++
			case Warning:
				verdict.Warnings++
			default:
				verdict.Notes++
			}
			return yield(f, nil)
		}
		twins := newTwins()
		for w, err := range r.Workers(ctx) {
			if err != nil {
				yield(Finding{}, err)
				return
			}
			verdict.Registers++
			for _, f := range append(r.examine(w), twins.meet(w)...) {
				if !report(f) {
					return
				}
			}
		}
		for _, f := range twins.processes() {
			if !report(f) {
				return
			}
		}
	}
}

// examine returns what is wrong with one register. That its floor lies at or
// below its until is part of its being decoded.
func (r *Roster) examine(w Worker) []Finding {
	var found []Finding
	add := func(s Severity, c Check, format string, args ...any) {
		found = append(found, Finding{Severity: s, Check: c, Workers: []int64{w.Number}, Key: w.Key, Text: fmt.Sprintf(format, args...)})
	}
	if w.Number == Stray {
		add(Fault, CheckKey, "the key is no worker id of the layout %s, so no claimant ever looks at it", r.layout)
	}
	if w.State == Unreadable && w.Damage != nil && !errors.Is(w.Damage, errStray) {
		add(Fault, CheckReadable, "nobody can claim it: %v", w.Damage)
	}
	register := w.Register
	if register.Term == 0 {
		return found
	}
	if register.Incarnation != r.record.Incarnation {
		add(Fault, CheckNamespace, "it is of incarnation %s, and the namespace of %s: nobody can claim it; the store was emptied or mixed with another", register.Incarnation, r.record.Incarnation)
	}
	if register.Layout != r.record.Layout {
		add(Fault, CheckNamespace, "it has the layout %s, and the namespace %s: nobody can claim it", register.Layout, r.record.Layout)
	}
	if w.Number != Stray && !r.Own(w.Number) {
		add(Fault, CheckDatacenter, "it is of none of the datacenters %v that this store may give away", r.record.Datacenters)
	}
	switch horizon := r.layout.HorizonTick(); {
	case register.Until > horizon:
		add(Fault, CheckHorizon, "until is tick %d, beyond the horizon, %d", register.Until, horizon)
		return found
	case register.Until == horizon:
		add(Warning, CheckHorizon, "it is used up to the layout's horizon: nobody can claim it")
		return found
	}
	if ahead := w.Until.Sub(w.Read); ahead > register.Window+r.config.MaxRollback+stored.ClockTolerance {
		add(Warning, CheckAhead, "its ticks are taken until %s, %s ahead: a clock was wrong, or an import set a floor there; it is busy until then and must not be lowered",
			w.Until.Format(time.RFC3339Nano), ahead.Round(time.Second))
	}
	if age := w.Age(); age < -stored.ClockTolerance {
		add(Warning, CheckClock, "it was written by a clock that is at least %s ahead of %s", (-age).Round(time.Second), r.referenceName())
	}
	return found
}

func (r *Roster) referenceName() string {
	if r.engineClock {
		return "the store's"
	}
	return "this host's"
}

// twins remembers what must be in one register only.
type twins struct {
	holders map[mark]int64
	writes  map[mark]int64
	running map[process][]resident
}

// mark is a nonce or the mark of a write, which is half as long.
type mark [16]byte

// markOf reads a mark that was decoded with its register, and so is valid.
func markOf(text string) mark {
	var m mark
	_, _ = hex.Decode(m[:], []byte(text))
	return m
}

type process struct {
	host string
	pid  int
}

type resident struct {
	worker  int64
	key     string
	started time.Time
}

func newTwins() *twins {
	return &twins{holders: map[mark]int64{}, writes: map[mark]int64{}, running: map[process][]resident{}}
}

// meet takes a register note of, and returns what it has in common with an
// earlier one.
func (t *twins) meet(w Worker) []Finding {
	register := w.Register
	if register.Term == 0 {
		return nil
	}
	var found []Finding
	one := func(known map[mark]int64, m mark, c Check, text string) {
		other, twice := known[m]
		if !twice {
			known[m] = w.Number
			return
		}
		found = append(found, Finding{Severity: Fault, Check: c, Workers: []int64{other, w.Number}, Key: w.Key, Text: text})
	}
	one(t.writes, markOf(register.Write), CheckWrite, "two registers have the mark of one write: one is a copy of the other")
	if register.Holder == "" {
		return found
	}
	one(t.holders, markOf(register.Holder), CheckHolder, "two worker ids have the nonce of one claim: a register was copied, or the holder's process (a live clone, or random numbers that repeat)")
	if p := (process{register.Process.Host, register.Process.PID}); w.State == Held && p != (process{}) {
		t.running[p] = append(t.running[p], resident{w.Number, w.Key, register.Process.Started})
	}
	return found
}

// processes returns the processes that hold several worker ids.
func (t *twins) processes() []Finding {
	var found []Finding
	for p, residents := range t.running {
		if len(residents) < 2 {
			continue
		}
		slices.SortFunc(residents, func(a, b resident) int { return cmp.Compare(a.worker, b.worker) })
		var workers []int64
		starts := map[time.Time]bool{}
		for _, x := range residents {
			workers = append(workers, x.worker)
			starts[x.started.UTC()] = true
		}
		text := "holds several worker ids: it has several generators"
		if len(starts) > 1 {
			text = "holds several worker ids, with different starts: it was started again, or several hosts have one name"
		}
		named := stored.Process{Host: p.host, PID: p.pid}
		found = append(found, Finding{Severity: Note, Check: CheckProcess, Workers: workers, Key: residents[0].key, Text: named.String() + " " + text})
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.Workers[0], b.Workers[0]) })
	return found
}
