package sim

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// mutant is a deliberate bug, of a kind that people write. It changes the input or the output of the
// step function, or the work of the store. Other packages can't reach it: the bugs live in this
// package's tests.
type mutant struct {
	number  int
	name    string
	bugs    func() bugs // anew for each run
	journal bool        // it shows where there are journals
	shape   func(*Plan) // makes of a plan one in which it shows; may be nil
}

// schedules is how many plans a mutant may hide from.
const schedules = 1000

type bend = func(h *holder, before lease.State, e lease.Event, requests []lease.Request) []lease.Request

func bending(b bend) func() bugs { return func() bugs { return bugs{bend: b} } }

// mutants are the first ten bugs that such a protocol invites. The seventh is two bugs.
func mutants() []mutant {
	return []mutant{
		{number: 1, name: "the store compares the term only and writes blindly", bugs: func() bugs { return bugs{guard: sameTerm} }},
		{number: 2, name: "the floor is below the guarded until", bugs: bending(lowFloor)},
		{number: 3, name: "the new bound is used before its acknowledgement", bugs: bending(useProposed)},
		{number: 4, name: "tick <= until", bugs: bending(oneTooMany)},
		{number: 5, name: "same owner name, so resume after a restart", bugs: bending(resume)},
		{number: 6, name: "a blind release lowers until", bugs: bending(releaseBlindly)},
		{number: 7, name: "lowering while still issuing", bugs: bending(issueWhileReleasing)},
		{number: 7, name: "lowering below the term's floor", bugs: bending(releaseToNow)},
		{number: 8, name: "the proposed bound is adopted after an unknown outcome", bugs: func() bugs { return bugs{bend: adoptProposed()} }},
		{number: 9, name: "a version is reused after a rollback", bugs: func() bugs { return bugs{versions: countUp} }},
		{number: 10, name: "on a lossy store, a bound is used before it is confirmed", bugs: func() bugs {
			return bugs{config: func(c *lease.Config) { c.Loss = 0 }}
		}},
	}
}

// sameTerm compares the term that the guard had with the present one.
func sameTerm(s *server, current, prev store.Version) bool {
	return s.terms[current] == s.terms[prev]
}

func lowFloor(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		if start, ok := request.(lease.Start); ok {
			start.Floor = min(start.Floor, h.site.Layout.TickAt(h.site.Clock.Wall()))
			requests[i] = start
		}
	}
	return requests
}

func useProposed(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if until, ok := extension(h, requests); ok {
		requests = append(requests, lease.Extend{Until: until})
	}
	return onward(h, requests)
}

func oneTooMany(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	return bounds(requests, func(until *snowfence.Tick, _ *time.Duration) { *until++ })
}

// bounds changes the bounds that a generator is given, and when they expire.
func bounds(requests []lease.Request, change func(until *snowfence.Tick, expires *time.Duration)) []lease.Request {
	for i, request := range requests {
		switch r := request.(type) {
		case lease.Start:
			change(&r.Until, &r.Expires)
			requests[i] = r
		case lease.Extend:
			change(&r.Until, &r.Expires)
			requests[i] = r
		}
	}
	return requests
}

// resume takes a register that shows the node's own name for its own lease.
func resume(h *holder, before lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	reply, ok := e.(lease.Reply)
	if !ok || reply.Outcome != lease.Found || before.View().Phase != lease.Probing || h.term != nil {
		return requests
	}
	r, err := stored.DecodeRegister(reply.Entry.Value)
	worker, known := stored.WorkerOf(stored.DefaultNamespace, h.site.Layout, reply.Entry.Key)
	if err != nil || !known || r.Holder == "" || r.Process.Host != h.site.Host {
		return requests
	}
	h.driver.Perform(lease.Start{Worker: worker, Term: r.Term, Floor: r.Floor, Until: r.Until})
	h.term.nonce = r.Holder
	h.state = lease.State{} // nothing more to do
	return nil
}

func releaseBlindly(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if at, ok := release(requests); ok {
		swap, _ := requests[at].(lease.Call)
		swap.Prev = blind
		requests[at] = swap
	}
	return requests
}

func issueWhileReleasing(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		if _, ok := request.(lease.Drain); ok && h.term != nil {
			reserved := h.term.generator.Status().Reserved
			requests = append(requests[:i:i], requests[i+1:]...)
			h.site.node.soon(0, func() { h.site.node.step(lease.Drained{Reserved: reserved}) })
		}
	}
	return requests
}

func releaseToNow(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	return rewriting(requests, func(r *stored.Register) {
		r.Until = min(r.Until, h.site.Layout.TickAt(h.site.Clock.Wall()))
		r.Floor = min(r.Floor, r.Until)
	})
}

// adoptProposed remembers the last proposal of each process.
func adoptProposed() bend {
	proposed := make(map[*holder]snowfence.Tick)
	return func(h *holder, _ lease.State, e lease.Event, requests []lease.Request) []lease.Request {
		if reply, ok := e.(lease.Reply); ok && reply.Outcome == lease.Unknown && proposed[h] > 0 && h.term != nil {
			requests = append(requests, lease.Extend{Until: proposed[h]})
			delete(proposed, h)
		}
		if until, ok := extension(h, requests); ok {
			proposed[h] = until
		}
		return onward(h, requests)
	}
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
func extension(h *holder, requests []lease.Request) (snowfence.Tick, bool) {
	for _, request := range requests {
		swap, ok := request.(lease.Call)
		if !ok || h.term == nil {
			continue
		}
		if r, err := stored.DecodeRegister(swap.Value); err == nil && r.Holder == h.term.nonce {
			return r.Until, true
		}
	}
	return 0, false
}

// release returns where a release is among the requests.
func release(requests []lease.Request) (int, bool) {
	for i, request := range requests {
		if swap, ok := request.(lease.Call); ok {
			if r, err := stored.DecodeRegister(swap.Value); err == nil && r.Holder == "" {
				return i, true
			}
		}
	}
	return 0, false
}

// rewriting changes the register that a release among the requests writes.
func rewriting(requests []lease.Request, change func(*stored.Register)) []lease.Request {
	at, ok := release(requests)
	if !ok {
		return requests
	}
	swap, _ := requests[at].(lease.Call)
	r, err := stored.DecodeRegister(swap.Value)
	if err != nil {
		return requests
	}
	change(&r)
	if swap.Value, err = r.Encode(); err == nil {
		requests[at] = swap
	}
	return requests
}

// found changes the entry that a read finds.
func found(e lease.Event, change func(*lease.Reply)) lease.Event {
	reply, ok := e.(lease.Reply)
	if ok && reply.Outcome == lease.Found {
		change(&reply)
		return reply
	}
	return e
}

// caught runs drawn plans until one breaks a rule of safety. A bug that only keeps
// ids from being issued does not count.
func (m mutant) caught(t *testing.T) {
	t.Helper()
	t.Parallel()
	ran := 0
	for seed := uint64(0); ran < schedules; seed++ {
		p := Draw(seed)
		if m.journal && !p.Journals {
			continue
		}
		p.Rough = true
		if m.shape != nil {
			m.shape(&p)
		}
		ran++
		r := Run(p, Config{bugs: m.bugs()})
		if len(r.Findings) == 0 {
			continue
		}
		for _, f := range r.Findings {
			switch f.Rule {
			case "unique", "fenced", "bounded", "monotone", "layout", "strict":
				t.Logf("caught by plan %d, seed %d, %s", ran, seed, f)
				return
			case "outage": // a bug may break this rule, too
			default:
				t.Fatalf("seed %d: %s", seed, f)
			}
		}
	}
	t.Errorf("%d plans broke no rule", schedules)
}

// TestMutantsAreCaught plants each of the bugs that such a protocol invites, and
// expects that the drawn plans find it.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range mutants() {
		t.Run(fmt.Sprintf("%d %s", m.number, m.name), m.caught)
	}
}
