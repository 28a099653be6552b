package roster

import (
	"context"
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
	// Fault is impossible under the protocol: damage, a copied register or process, the
	// writes of another program.
	Fault Severity = "error"
	// Warning is possible but wrong: a worker id that can't be claimed for long, a clock
	// that is off.
	Warning Severity = "warning"
	// Note may have a good reason.
	Note Severity = "note"
)

// Check is the subject of a [Finding].
type Check string

// The checks.
const (
	CheckKey        Check = "key"        // keys that are no worker ids of the layout
	CheckReadable   Check = "readable"   // registers that can't be read or decoded
	CheckNamespace  Check = "namespace"  // registers of another incarnation or layout
	CheckDatacenter Check = "datacenter" // worker ids of datacenters that are not in the record
	CheckHorizon    Check = "horizon"    // bounds beyond the layout's horizon, and worker ids that are used up to it
	CheckAhead      Check = "ahead"      // bounds further ahead than any right clock makes them
	CheckClock      Check = "clock"      // registers written by a clock that was ahead of the reference
	CheckHolder     Check = "holder"     // a claim's nonce in two registers: one was copied, or the process that drew it
	CheckWrite      Check = "write"      // the mark of one write in two registers: one was copied
)

// Finding is one result of Verify.
type Finding struct {
	Severity Severity
	Check    Check
	Workers  []int64 // its worker numbers; [Stray] for a foreign key
	Key      string  // the register's, of the first of several
	Text     string  // the fault, and the possible reason
}

// Verdict counts the registers that [Roster.Verify] read, and their faults.
type Verdict struct {
	Registers, Faults, Warnings, Notes int64
}

// Verify reads every register and yields its faults, in any order. It keeps some hundred bytes a
// register. Registers may change while it reads. Verify counts into verdict, which may be nil. An error
// ends the sequence.
func (r *Roster) Verify(ctx context.Context, verdict *Verdict) iter.Seq2[Finding, error] {
	if verdict == nil {
		verdict = new(Verdict)
	}
	return func(yield func(Finding, error) bool) {
		counts := map[Severity]*int64{Fault: &verdict.Faults, Warning: &verdict.Warnings, Note: &verdict.Notes}
		report := func(found []Finding) bool {
			return !slices.ContainsFunc(found, func(f Finding) (stopped bool) {
				*counts[f.Severity]++
				return !yield(f, nil)
			})
		}
		twins := twins{}
		for w, err := range r.Workers(ctx) {
			if err != nil {
				yield(Finding{}, err)
				return
			}
			verdict.Registers++
			if !report(append(r.examine(w), twins.meet(w)...)) {
				return
			}
		}
	}
}

// examine returns the faults of one register. Decoding has checked that its floor is not
// above its until.
func (r *Roster) examine(w Worker) []Finding {
	var found []Finding
	add := func(s Severity, c Check, format string, args ...any) {
		found = append(found, Finding{Severity: s, Check: c, Workers: []int64{w.Number}, Key: w.Key, Text: fmt.Sprintf(format, args...)})
	}
	if w.Number == Stray {
		add(Fault, CheckKey, "the key is no worker id of the layout %s, so no claim reads it", r.layout)
	}
	if w.State == Unreadable && w.Damage != nil && !errors.Is(w.Damage, errStray) {
		add(Fault, CheckReadable, "it can't be claimed: %v", w.Damage)
	}
	register := w.Register
	if register.Term == 0 {
		return found
	}
	if register.Incarnation != r.record.Incarnation {
		add(Fault, CheckNamespace, "it is of incarnation %s, and the namespace of %s: it can't be claimed; the store was emptied or mixed with another", register.Incarnation, r.record.Incarnation)
	}
	if register.Layout != r.record.Layout {
		add(Fault, CheckNamespace, "it has the layout %s, and the namespace %s: it can't be claimed", register.Layout, r.record.Layout)
	}
	if w.Number != Stray && !r.Own(w.Number) {
		add(Fault, CheckDatacenter, "it is of none of the datacenters %v that this store may give away", r.record.Datacenters)
	}
	switch horizon := r.layout.HorizonTick(); {
	case register.Until > horizon:
		add(Fault, CheckHorizon, "until is tick %d, beyond the horizon, %d", register.Until, horizon)
		return found
	case register.Until == horizon:
		add(Warning, CheckHorizon, "it is used up to the layout's horizon: it can't be claimed")
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

// twins are the marks that belong into one register only, and its number: claims' nonces, and writes' marks,
// which are half as long.
type twins map[string]int64

// meet notes a register, and returns its common part with an earlier one.
func (t twins) meet(w Worker) []Finding {
	register := w.Register
	if register.Term == 0 {
		return nil
	}
	var found []Finding
	one := func(mark string, c Check, text string) {
		other, twice := t[mark]
		if !twice {
			t[mark] = w.Number
			return
		}
		found = append(found, Finding{Severity: Fault, Check: c, Workers: []int64{other, w.Number}, Key: w.Key, Text: text})
	}
	one(register.Write, CheckWrite, "two registers have the mark of one write: one is a copy of the other")
	if register.Holder != "" {
		one(register.Holder, CheckHolder, "two worker ids have the nonce of one claim: a register was copied, or the holder's process (a live clone, or random numbers that repeat)")
	}
	return found
}
