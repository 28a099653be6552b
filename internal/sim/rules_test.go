package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// TestEveryRuleFindsWhatBreaksIt breaks each rule that the package's comment
// names, on purpose.
func TestEveryRuleFindsWhatBreaksIt(t *testing.T) {
	tests := map[string]func() Report{
		"unique": func() Report { return Run(Plain(), Config{Program: everybodyCounts, Collect: true}) },
		"bounded": func() Report {
			p := Plain()
			p.Faults = []Fault{{At: time.Second, Node: Everywhere, Kind: Cut, For: time.Second}}
			var r Report
			for ; p.Seed < 20 && len(r.Findings) == 0; p.Seed++ { // it takes a call at the very last tick
				r = Run(p, Config{bugs: bugs{bend: oneTooMany}})
			}
			return r
		},
		"monotone": func() Report { return Run(terminated(), Config{bugs: bugs{bend: releaseToNow}}) },
		"fenced":   func() Report { return issuing(4, 5) },
		"order":    func() Report { return issuing(3, 2) },
		"strict": func() Report {
			p := Plain()
			p.Layout = layoutOf("ms41-seq3")
			w := newWorld(&p, Config{})
			w.servers[0].found(0, p.Layout)
			w.servers[0].bounds["nonce"] = 1000
			for i, low := range []uint64{800, 80} { // a later call of another process gets lower ids
				by := w.issuerOf(w.nodes[i].site(), "a process")
				by.generator, by.nonce = new(snowfence.Generator), "nonce"
				w.agenda.After(time.Millisecond, func() { w.issuedRange(by, 0, low, low+1) })
				w.agenda.Proceed()
			}
			return w.report()
		},
		"layout": func() Report {
			p := Plain()
			p.Misfits, p.Founded = 1, true
			w := newWorld(&p, Config{})
			w.servers[0].found(0, p.Layout)
			by := w.issuerOf(w.nodes[1].site(), "a misfit")
			by.generator, by.nonce = new(snowfence.Generator), "nonce"
			w.issuedRange(by, 0, 0, 1)
			return w.report()
		},
		"waiting": func() Report {
			p := Plain() // a tick more than max-wait is too long, also when the call then succeeds
			p.Batch = 60
			return Run(p, Config{bugs: bugs{policy: func(p *snowfence.Policy) { p.MaxWait += time.Millisecond }}})
		},
		"live": func() Report {
			p := Plain()
			p.Faults = []Fault{{At: time.Second, Kind: Crash, For: time.Millisecond}}
			return Run(p, Config{bugs: bugs{bend: claimsOnce}})
		},
		"outage": func() Report {
			p := Plain()
			p.Faults = []Fault{{At: time.Second, Node: Everywhere, Kind: Cut, For: 2 * p.Window}}
			return Run(p, Config{bugs: bugs{bend: saysNothing}})
		},
		"broken": func() Report {
			return Run(Plain(), Config{bugs: bugs{bend: func(*holder, lease.State, lease.Event, []lease.Request) []lease.Request {
				return []lease.Request{lease.Report{What: lease.Broken, Err: errors.New("of its own accord")}}
			}}})
		},
		"lending": func() Report {
			p := Plain()
			w := newWorld(&p, Config{})
			(&errand{daemon: w.nodes[0]}).call(lease.Call{Verb: lease.Swap, Key: stored.NamespaceKey(stored.DefaultNamespace)})
			return w.report()
		},
		"harness": func() Report { return Run(Plan{}, Config{}) },
	}
	for rule, run := range tests {
		t.Run(rule, func(t *testing.T) {
			if found := run().Findings; len(found) == 0 || found[0].Rule != rule {
				t.Errorf("found %v", found)
			}
		})
	}
}

// terminated is a plan in which a machine whose clock is behind ends in order.
func terminated() Plan {
	p := Plain()
	p.Faults = []Fault{
		{At: 700 * time.Millisecond, Kind: Step, For: -80 * time.Millisecond},
		{At: 750 * time.Millisecond, Kind: Terminate, For: p.Window},
	}
	return p
}

// issuing has two slots of one worker issued under one nonce: by two generators, or
// by one alone if the second slot is the lower one.
func issuing(first, second uint64) Report {
	p := Plain()
	w := newWorld(&p, Config{})
	w.servers[0].found(0, p.Layout)
	by := w.issuerOf(w.nodes[0].site(), "one")
	by.generator, by.nonce = new(snowfence.Generator), "nonce"
	w.servers[0].bounds["nonce"] = 100
	w.issuedRange(by, 0, first, first+1)
	if second > first {
		by = w.issuerOf(w.nodes[1].site(), "another")
		by.generator, by.nonce = new(snowfence.Generator), "nonce"
	}
	w.issuedRange(by, 0, second, second+1)
	return w.report()
}

// saysNothing leaves out reports of outages.
func saysNothing(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r lease.Request) bool {
		report, is := r.(lease.Report)
		return is && report.What == lease.Interrupted
	})
}

// claimsOnce asks for a worker id in a machine's first process only.
func claimsOnce(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if h.site.Process == 1 {
		return requests
	}
	return slices.DeleteFunc(slices.Clone(requests), func(r lease.Request) bool { call, _ := r.(lease.Call); return call.Verb == lease.Get })
}

// everybodyCounts starts an allocator that stamps the time with worker 0 and
// counts from 0 in each process.
func everybodyCounts(s Site) (Allocator, error) { return &counting{site: s}, nil }

type counting struct {
	site Site
	last snowfence.Tick
	next int64
}

func (c *counting) Step(e lease.Event, _ lease.Moment) []lease.Request {
	if _, ends := e.(lease.ReleaseAsked); ends {
		return []lease.Request{lease.Report{What: lease.Ended}}
	}
	return nil
}

func (c *counting) Wake() (time.Duration, bool) { return 0, false }

func (c *counting) Mint(_ context.Context, ids []snowfence.ID) (int, error) {
	for i := range ids {
		now := c.site.Layout.TickAt(c.site.Clock.Wall())
		if now != c.last {
			c.last, c.next = now, 0
		}
		for c.next == c.site.Layout.Sequences() {
			if !c.site.Sleep(c.site.Layout.Unit) {
				return 0, context.Canceled
			}
			c.last, c.next = c.site.Layout.TickAt(c.site.Clock.Wall()), 0
		}
		id, err := c.site.Layout.Compose(snowfence.Parts{Tick: c.last, Sequence: c.next})
		if err != nil {
			return 0, err
		}
		ids[i] = id
		c.next++
	}
	return len(ids), nil
}

// TestAnotherAllocatorIsSimulatedToo: an allocator without terms is judged by its ids alone, and by all
// of them.
func TestAnotherAllocatorIsSimulatedToo(t *testing.T) {
	p := Plain()
	p.Batch, p.Rough = 20, true
	r := Run(p, Config{Program: everybodyCounts, Collect: true})
	if r.Tally.Counts[Duplicates] == 0 || r.Tally.Counts[Waits] == 0 {
		t.Errorf("two machines with one worker id: %s", r.Tally)
	}
	p.Nodes = 1
	if r := Run(p, Config{Program: everybodyCounts}); len(r.Findings) > 0 || r.Tally.Counts[IDs] < 1000 {
		t.Errorf("one machine with one worker id: %v, %s", r.Findings, r.Tally)
	}
}
