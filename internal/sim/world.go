package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/sim/trace"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Config sets how a plan is run.
type Config struct {
	Program Program          // the program of the machines; nil means [Ours]
	Trace   io.Writer        // gets a line for everything that happens; may be nil
	Steps   func(trace.Step) // takes each step that the model of the protocol has, and each fault; may be nil
	Collect bool             // go on to the end despite findings, to count all; else a run ends with the twentieth finding

	// Store opens the store of a number, which must be empty, in place of the reference store. The plan
	// must be lossless: see [Plan.Lossless]. Nil means the reference store.
	Store func(number int) store.Store

	bugs bugs
}

// Report is the result of a run.
type Report struct {
	Findings []Finding // the rules that were broken, in the order of their times
	Tally    Tally     // the counts
	Digest   uint64    // a sum over all that happened, so that two runs can be compared
}

// Finding is a rule that was broken.
type Finding struct {
	At   time.Duration
	Rule string // see the package's comment
	What string
}

func (f Finding) String() string { return fmt.Sprintf("after %s: %s: %s", f.At, f.Rule, f.What) }

// maxFindings is how many findings a report lists.
const maxFindings = 20

// world is a run under way.
type world struct {
	plan    *Plan
	program Program
	bugs    bugs
	trace   io.Writer
	steps   func(trace.Step)
	collect bool
	begin   time.Time // true time zero
	agenda  Agenda
	servers []*server
	nodes   []*node
	ledgers map[string]*ledger // by layout
	issuers int32

	quiet      bool          // the faults have ended
	latest     time.Duration // when the last late request arrives
	stepFaults []Fault

	found  []Finding
	tally  Tally
	digest hash.Hash64
}

// Run runs a plan. A plan that can't be run breaks the rule "harness".
func Run(p Plan, c Config) Report {
	err := p.Validate()
	if err == nil && c.Store != nil && !p.lossless() {
		err = errors.New("sim: plan: must have the reference store, where it takes writes away or reads the store's clock")
	}
	if err != nil {
		return Report{Findings: []Finding{{Rule: "harness", What: err.Error()}}}
	}
	w := newWorld(&p, c)
	w.run()
	return w.report()
}

func newWorld(p *Plan, c Config) *world {
	w := &world{
		plan: p, program: c.Program, bugs: c.bugs, trace: c.Trace, steps: c.Steps, collect: c.Collect,
		begin: p.Layout.Epoch.Add(p.Begin), ledgers: make(map[string]*ledger), digest: fnv.New64a(),
	}
	if w.program == nil {
		w.program = Ours
	}
	for i := range p.stores() {
		s := newServer(w, i)
		if c.Store != nil {
			s.memory, s.client = nil, clockless{c.Store(i)}
		}
		w.servers = append(w.servers, s)
	}
	for i := range p.machines() {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	return w
}

// source returns a source of chance by its number.
func (w *world) source(number int) *rand.Rand {
	return rand.New(rand.NewPCG(w.plan.Seed, uint64(number)))
}

func (w *world) run() {
	p, rng := w.plan, w.source(1)
	for _, n := range w.nodes {
		w.agenda.After(upTo(rng, 2*p.beat()), n.boot)
		if p.Journals && !n.borrows {
			w.agenda.After(upTo(rng, 10*p.beat()), n.disk.somebodyMeddles)
		}
	}
	if p.Founded {
		for i, s := range w.servers {
			s.found(i, p.Layout)
		}
	}
	for i, f := range p.Faults {
		if f.Kind == Rollback {
			w.agenda.After(f.At-f.For, func() {
				for j, s := range w.servers {
					if f.meets(j) {
						s.snapshots[i] = s.memory.Snapshot()
					}
				}
			})
		}
		w.agenda.After(f.At, func() { w.strike(i, f) })
	}
	w.until(p.Length)
	if !p.Rough && len(w.found) == 0 {
		w.awaitRecovery()
	}
	for _, n := range w.nodes {
		if n.alive {
			n.caller.end()
		}
	}
}

// until lets time pass, and ends early once the report is full.
func (w *world) until(end time.Duration) {
	w.agenda.Until(end, func() bool { return len(w.found) >= maxFindings && !w.collect })
}

func (w *world) report() Report {
	w.tally.Hours = w.agenda.Now().Hours()
	_, _ = fmt.Fprintf(w.digest, "%v %v", w.tally, w.found)
	return Report{Findings: w.found, Tally: w.tally, Digest: w.digest.Sum64()}
}

// issued checks a batch of ids against the rules.
func (w *world) issued(by *issuer, ids []snowfence.ID) {
	if len(ids) == 0 {
		return
	}
	w.tally.Counts[IDs] += int64(len(ids))
	for _, id := range []snowfence.ID{ids[0], ids[len(ids)-1]} {
		if err := by.ledger.check(id); err != nil {
			w.breaks("harness", "%s: %v", by.name, err)
			return
		}
	}
	by.ledger.ranges(ids, func(worker int64, low, high uint64) { w.issuedRange(by, worker, low, high) })
}

func (w *world) issuedRange(by *issuer, worker int64, low, high uint64) {
	l := by.ledger
	w.tally.Counts[Ranges]++
	w.sum(uint64(worker), low, high, uint64(by.number))
	if w.trace != nil {
		w.tell("%s issues %d ids from tick %d, sequence %d", by.name, high-low, l.tick(low), low&(1<<l.sequence.bits-1))
	}
	server := w.nodes[by.node].server
	repeated, shared, upTo := l.issue(worker, span{low, high, by})
	for _, r := range repeated {
		n := int64(r.slots.high - r.slots.low)
		w.tally.Counts[Duplicates] += n
		if at := l.tick(r.slots.high - 1); !server.excuses(worker, at, by, r.before) {
			w.breaks("unique", "%s issued %d ids up to tick %d of worker %d, which %s had issued", by.name, n, at, worker, r.before.name)
		}
	}
	first, last := l.tick(low), l.tick(high-1)
	if by.nonce == "" {
		return // the ids are all that is judged of it
	}
	if w.steps != nil {
		key := stored.RegisterKey(stored.DefaultNamespace, w.plan.Layout, worker)
		w.nodes[by.node].record(trace.Step{Kind: trace.Stamp, Register: server.register(key), Floor: int64(first), Until: int64(last) + 1})
	}
	if found := server.record.Layout; l.name != found && !server.excused[by.nonce] {
		// A rollback may take the record away, and a misfit make it anew, while old nonces still issue.
		w.breaks("layout", "%s issued ids under %s, and the namespace is of %q", by.name, l.name, found)
	}
	if shared != nil && !server.excuses(worker, upTo, by, shared) {
		w.breaks("fenced", "ticks up to %d of worker %d were stamped by %s and by %s", upTo, worker, shared.name, by.name)
	}
	if low < by.last {
		w.breaks("order", "%s issued tick %d after tick %d", by.name, first, l.tick(by.last))
	}
	if earlier := l.at(w.agenda.Now(), high); l.layout.Workers() == 1 && low < earlier && !w.disorderly() {
		w.breaks("strict", "%s issued tick %d when tick %d had been issued before", by.name, first, l.tick(earlier-1))
	}
	by.last, by.highest = high, max(by.highest, last+1)
	if until := server.bounds[by.nonce]; worker != by.worker || first < by.floor || last >= until {
		w.breaks("bounded", "%s stamped ticks %d to %d of worker %d, and the store has [%d, %d) for it", by.name, first, last, worker, by.floor, until)
	}
}

// disorderly reports whether something has happened that breaks strict order: a monotonic clock
// that stood still or was off by more than an eighth, a copy of a process, or a store that forgot more
// than it declares.
func (w *world) disorderly() bool {
	for _, f := range w.plan.Faults {
		if f.Kind == Slew && max(f.N, -f.N) > million/16 {
			return true
		}
	}
	for _, kind := range []Kind{Suspend, Clone, Rollback, Refound, Lossy} {
		if w.tally.Faults[kind] > 0 {
			return true
		}
	}
	return false
}

// issuerOf returns another issuer.
func (w *world) issuerOf(s Site, name string) *issuer {
	w.issuers++
	return &issuer{name: name, node: s.node.index, number: w.issuers, ledger: w.ledgerOf(s.Layout)}
}

// ledgerOf returns the ledger of a layout.
func (w *world) ledgerOf(l snowfence.Layout) *ledger {
	name := l.String()
	if w.ledgers[name] == nil {
		w.ledgers[name] = newLedger(l)
	}
	return w.ledgers[name]
}

// brokeDown takes the end of a process that failed for good. It must have been
// given a reason: a namespace of another layout, or one that the store forgot.
func (w *world) brokeDown(n *node, err error) {
	w.tally.Counts[Broken]++
	var layout *stored.LayoutMismatchError
	forgets := w.plan.Loss > 0 || w.tally.Faults[Rollback]+w.tally.Faults[Refound] > 0
	switch {
	case errors.As(err, &layout) && w.plan.Misfits > 0 && (forgets || n.server.record.Layout != n.asIssuer.ledger.name):
		w.tally.Counts[Misfit]++
	case errors.Is(err, stored.ErrNamespaceReplaced) && forgets:
	default:
		w.breaks("broken", "%s, process %d: %v", n.host, n.process, err)
	}
}

// struck counts a fault that took effect.
func (w *world) struck(k Kind, place int, format string, args ...any) {
	w.tally.Faults[k]++
	w.sum(uint64(k), uint64(int64(place)))
	if w.steps != nil {
		note := fmt.Sprintf(k.String()+": "+format, args...)
		w.steps(trace.Step{At: w.agenda.Now(), Kind: trace.Remark, Place: "fault", Note: note})
	}
	if w.trace != nil {
		w.tell("FAULT %s: %s", k, fmt.Sprintf(format, args...))
	}
}

func (w *world) breaks(rule, format string, args ...any) {
	if len(w.found) >= maxFindings && !w.bugs.strict {
		return
	}
	f := Finding{At: w.agenda.Now(), Rule: rule, What: fmt.Sprintf(format, args...)}
	w.found = append(w.found, f)
	w.tell("BROKEN %s: %s", f.Rule, f.What)
}

// tell writes a line of the trace.
func (w *world) tell(format string, args ...any) {
	if w.trace != nil {
		_, _ = fmt.Fprintf(w.trace, "%14s  %s\n", w.agenda.Now(), fmt.Sprintf(format, args...))
	}
}

// sum adds an event to the digest.
func (w *world) sum(numbers ...uint64) {
	var b [8]byte
	for _, n := range append([]uint64{uint64(w.agenda.Now())}, numbers...) {
		binary.LittleEndian.PutUint64(b[:], n)
		_, _ = w.digest.Write(b[:])
	}
}

// rules must be incremented with each change of the checks or the course of a run. A change of drawn
// plans does not need that: Version has their sum.
const rules = 7

// Version identifies a state of this package: the plans of the seeds, and the checks. Findings of one
// version may differ from findings of another.
func Version() string {
	sum := fnv.New64a()
	for seed := range uint64(200) {
		p := Draw(seed)
		_, _ = sum.Write([]byte(p.String()))
	}
	return fmt.Sprintf("%d-%016x", rules, sum.Sum64())
}
