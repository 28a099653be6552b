package fence_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store"
)

// mutant is a deliberate bug: one that somebody will write. It bends what goes
// into the step function, what comes out of it, or what the store does. None
// of it can be reached from the package: the bugs live in this file.
type mutant struct {
	number int
	name   string
	lossy  bool // it shows on a lossy store

	// bend changes the requests that a step returned for an event.
	bend func(n *node, before lease.State, e lease.Event, requests []lease.Request) []lease.Request
	// config changes what the process is told.
	config func(*lease.Config)
	// guard is the store's comparison, instead of that of the version.
	guard func(w *world, current store.Version, s lease.Swap) bool
	// disk is what the nodes' disks do wrong.
	disk diskMutant
	// versions is the store's next version of a key, instead of a random one.
	versions func(current store.Version) []byte
}

// bent is what a mutant remembers of a process.
type bent struct {
	blind    bool           // the next swap is carried out whatever the version
	proposed snowfence.Tick // the bound of the extension under way
}

// schedules is how many the true code must pass on each kind of store, and how
// many a mutant may hide from.
const schedules = 1000

// mutants are the first ten that such a protocol invites. The seventh is two bugs.
func mutants() []mutant {
	return []mutant{
		{number: 1, name: "the store compares the term only and writes blindly", guard: sameTerm},
		{number: 2, name: "the floor is below the guarded until", bend: lowFloor},
		{number: 3, name: "the new bound is used before its acknowledgement", bend: useProposed},
		{number: 4, name: "tick <= until", bend: oneTooMany},
		{number: 5, name: "same owner name, so resume after a restart", bend: resume},
		{number: 6, name: "a blind release lowers until", bend: releaseBlindly},
		{number: 7, name: "lowering while still issuing", bend: issueWhileReleasing},
		{number: 7, name: "lowering below the term's floor", bend: releaseToNow},
		{number: 8, name: "the proposed bound is adopted after an unknown outcome", bend: adoptProposed},
		{number: 9, name: "a version is reused after a rollback", lossy: true, versions: countUp},
		{number: 10, name: "on a lossy store, a bound is used before it is confirmed", lossy: true,
			config: func(c *lease.Config) { c.Loss = 0 }},
	}
}

// sameTerm compares the term that the guard had with the present one.
func sameTerm(w *world, current store.Version, s lease.Swap) bool {
	return w.terms[current] == w.terms[s.Prev]
}

func lowFloor(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		if start, ok := request.(lease.Start); ok {
			start.Floor = min(start.Floor, worldLayout().TickAt(n.clock().Wall()))
			requests[i] = start
		}
	}
	return requests
}

func useProposed(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if until, ok := extension(n, requests); ok {
		requests = append(requests, lease.Extend{Until: until})
	}
	return requests
}

func oneTooMany(_ *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		switch r := request.(type) {
		case lease.Start:
			r.Until++
			requests[i] = r
		case lease.Extend:
			r.Until++
			requests[i] = r
		}
	}
	return requests
}

// resume takes a register that shows the node's own name for its own lease.
func resume(n *node, before lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	reply, ok := e.(lease.Reply)
	if !ok || reply.Outcome != lease.Found || before.View().Phase != lease.Probing || n.issuer != nil {
		return requests
	}
	r, err := lease.DecodeRegister(reply.Entry.Value)
	worker, known := lease.WorkerOf(lease.DefaultNamespace, worldLayout(), reply.Entry.Key)
	if err != nil || !known || r.Holder == "" || r.Process.Host != n.host {
		return requests
	}
	n.start(lease.Start{Worker: worker, Term: r.Term, Floor: r.Floor, Until: r.Until})
	n.issuer.nonce = r.Holder
	n.state = lease.State{} // nothing more to do
	return nil
}

func releaseBlindly(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if _, ok := release(requests); ok {
		n.bent.blind = true
	}
	return requests
}

func issueWhileReleasing(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		if _, ok := request.(lease.Drain); ok && n.issuer != nil {
			reserved := n.issuer.gen.Status().Reserved
			requests = append(requests[:i:i], requests[i+1:]...)
			n.soon(0, func() { n.step(lease.Drained{Reserved: reserved}) })
		}
	}
	return requests
}

func releaseToNow(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if at, ok := release(requests); ok {
		swap, _ := requests[at].(lease.Swap)
		r, err := lease.DecodeRegister(swap.Value)
		if err != nil {
			return requests
		}
		r.Until = min(r.Until, worldLayout().TickAt(n.clock().Wall()))
		r.Floor = min(r.Floor, r.Until)
		if swap.Value, err = r.Encode(); err == nil {
			requests[at] = swap
		}
	}
	return requests
}

func adoptProposed(n *node, _ lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	if reply, ok := e.(lease.Reply); ok && reply.Outcome == lease.Unknown && n.bent.proposed > 0 && n.issuer != nil {
		requests = append(requests, lease.Extend{Until: n.bent.proposed})
		n.bent.proposed = 0
	}
	if until, ok := extension(n, requests); ok {
		n.bent.proposed = until
	}
	return requests
}

// countUp counts the swaps of a key, as many stores do.
func countUp(current store.Version) []byte {
	next := make([]byte, 16)
	if b, err := hex.DecodeString(string(current)); err == nil && len(b) == len(next) {
		copy(next, b)
	}
	binary.BigEndian.PutUint64(next[8:], binary.BigEndian.Uint64(next[8:])+1)
	return next
}

// extension returns the bound of an extension among the requests, of a term
// that is issuing.
func extension(n *node, requests []lease.Request) (snowfence.Tick, bool) {
	for _, request := range requests {
		swap, ok := request.(lease.Swap)
		if !ok || n.issuer == nil {
			continue
		}
		if r, err := lease.DecodeRegister(swap.Value); err == nil && r.Holder == n.issuer.nonce {
			return r.Until, true
		}
	}
	return 0, false
}

// release returns where a release is among the requests.
func release(requests []lease.Request) (int, bool) {
	for i, request := range requests {
		if swap, ok := request.(lease.Swap); ok {
			if r, err := lease.DecodeRegister(swap.Value); err == nil && r.Holder == "" {
				return i, true
			}
		}
	}
	return 0, false
}

// plans are the schedules that a mutant, or the true code, is put through.
func plans(n int, lossy bool) []plan {
	var plans []plan
	for seed := range uint64(n) {
		p := plan{seed: seed, nodes: 2 + int(seed%2), pinned: seed%3 == 0, engine: seed%5 == 0, leaps: seed%4 == 3, length: 3 * time.Second}
		if lossy {
			p.loss = 60 * time.Millisecond
		}
		plans = append(plans, p)
	}
	return plans
}

// journaled are the same schedules with journals, and a store that is away now
// and then.
func journaled(n int, lossy bool) []plan {
	all := plans(n, lossy)
	for i := range all {
		all[i].disks = true
	}
	return all
}

func TestMutantsOfTheJournalAreCaught(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		name := map[bool]string{false: "durable store", true: "lossy store"}[lossy]
		t.Run("the true code passes on a "+name, func(t *testing.T) {
			var sum tally
			for _, p := range journaled(schedules, lossy) {
				p.calm = !p.leaps
				w := newWorld(p, mutant{})
				if found := w.run(); len(found) > 0 {
					t.Fatalf("seed %d, %s: %s: %s", p.seed, found[0].at, found[0].rule, found[0].what)
				}
				sum.add(w.tally)
			}
			t.Logf("%d schedules: %+v", schedules, sum)
			if err := errors.Join(sum.empty(), sum.emptyOfJournals()); err != nil {
				t.Error(err)
			}
		})
	}
	for _, m := range journalMutants() {
		t.Run(m.name, func(t *testing.T) {
			for _, p := range journaled(schedules, false) {
				if found := newWorld(p, m).run(); len(found) > 0 {
					if found[0].rule == "world" {
						t.Fatalf("seed %d, %s: %s", p.seed, found[0].at, found[0].what)
					}
					t.Logf("caught by seed %d after %s: %s: %s", p.seed, found[0].at, found[0].rule, found[0].what)
					return
				}
			}
			t.Errorf("%d schedules broke no rule", schedules)
		})
	}
}

func TestMutantsAreCaught(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		name := map[bool]string{false: "durable store", true: "lossy store"}[lossy]
		t.Run("the true code passes on a "+name, func(t *testing.T) {
			var sum tally
			for _, p := range plans(schedules, lossy) {
				// A register that a clock pushed far ahead keeps everybody away.
				p.calm = !p.leaps
				w := newWorld(p, mutant{})
				if found := w.run(); len(found) > 0 {
					t.Fatalf("seed %d, %s: %s: %s", p.seed, found[0].at, found[0].rule, found[0].what)
				}
				sum.add(w.tally)
			}
			t.Logf("%d schedules: %+v", schedules, sum)
			if err := sum.empty(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, m := range mutants() {
		t.Run(fmt.Sprintf("%d %s", m.number, m.name), func(t *testing.T) {
			for _, p := range plans(schedules, m.lossy) {
				if found := newWorld(p, m).run(); len(found) > 0 {
					t.Logf("caught by seed %d after %s: %s: %s", p.seed, found[0].at, found[0].rule, found[0].what)
					return
				}
			}
			t.Errorf("%d schedules broke no rule", schedules)
		})
	}
}
