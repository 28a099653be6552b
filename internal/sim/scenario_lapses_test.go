package sim

import (
	"errors"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// lapses are omissions and wrong settings, beside the mutants. Most cost ids, terms or worker ids and
// repeat nothing, so a scenario's expectations must notice them.
func lapses() []mutant {
	config := func(change func(*lease.Config)) func() bugs { return func() bugs { return bugs{config: change} } }
	policy := func(change func(*snowfence.Policy)) func() bugs { return func() bugs { return bugs{policy: change} } }
	return []mutant{
		{name: "nothing is extended", bugs: bending(extendNothing)},
		{name: "an unacknowledged write is taken for lost", bugs: bending(loseUnacknowledged)},
		{name: "a late read of an older write is taken for a loss", bugs: bending(loseOutdated)},
		{name: "a lost term ends the process", bugs: bending(endWithTheTerm)},
		{name: "a release leaves until where it is", bugs: bending(releaseAtUntil)},
		{name: "a process that is asked to end just ends", bugs: bending(endUnreleased)},
		{name: "the store's clock is not asked", bugs: config(func(c *lease.Config) { c.EngineClock = false })},
		{name: "a claim accepts any rollback", bugs: config(func(c *lease.Config) { c.MaxRollback = 2 * year })},
		{name: "a claim accepts no rollback", bugs: config(func(c *lease.Config) { c.MaxRollback = 0 })},
		{name: "a claim does not wait", bugs: config(func(c *lease.Config) { c.ClaimWait = time.Nanosecond })},
		{name: "the window is half as long", bugs: config(func(c *lease.Config) { c.Window /= 2 })},
		{name: "the window is ten times as long", bugs: config(func(c *lease.Config) { c.Window *= 10 })},
		{name: "the loss is taken for a third of the window", bugs: config(func(c *lease.Config) { c.Loss = c.Window/3 - 1 })},
		{name: "everybody wants worker 0", bugs: config(func(c *lease.Config) { c.Worker = new(int64) })},
		{name: "the pin is ignored", bugs: config(func(c *lease.Config) { c.Worker = nil })},
		{name: "the datacenter is ignored", bugs: config(func(c *lease.Config) { c.Datacenter, c.Datacenters = nil, nil })},
		{name: "the journal is left out", bugs: config(func(c *lease.Config) { c.JournalAhead = 0 })},
		{name: "every layout will do", bugs: config(func(c *lease.Config) { c.Layout = layoutOf("ms41-worker2-seq2") })}, // its scenario's
		{name: "a generator follows any rollback", bugs: policy(func(p *snowfence.Policy) { p.MaxRollback = 2 * year })},
		{name: "a generator accepts no rollback", bugs: policy(func(p *snowfence.Policy) { p.MaxRollback = 1 })},
		{name: "a call may wait for ten times as long", bugs: policy(func(p *snowfence.Policy) { p.MaxWait *= 10 })},
	}
}

func extendNothing(h *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	if _, ok := extension(h, requests); !ok {
		return requests
	}
	return slices.DeleteFunc(slices.Clone(requests), func(r lease.Request) bool {
		call, _ := r.(lease.Call)
		return call.Verb == lease.Swap
	})
}

// loseUnacknowledged takes a conflict, and an answer that did not come, for the
// end of the term.
func loseUnacknowledged(h *holder, _ lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	reply, ok := e.(lease.Reply)
	if !ok || h.term == nil || reply.Outcome != lease.Conflict && reply.Outcome != lease.Unknown {
		return requests
	}
	return losing("not acknowledged")
}

// loseOutdated ends the term when its register shows a lesser bound than the one acknowledged last, as
// a late read does, too.
func loseOutdated(h *holder, before lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	reply, ok := e.(lease.Reply)
	if !ok || h.term == nil || reply.Outcome != lease.Found {
		return requests
	}
	r, err := stored.DecodeRegister(reply.Entry.Value)
	if err != nil || r.Holder != h.term.nonce || r.Until >= before.View().Register.Until {
		return requests
	}
	return losing("an older write is there")
}

// losing ends the term, and the process with it.
func losing(why string) []lease.Request {
	cause := errors.New(why)
	return []lease.Request{lease.Revoke{Cause: cause}, lease.Report{What: lease.Lost, Err: cause}, lease.Report{What: lease.Ended}}
}

func endWithTheTerm(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for _, request := range requests {
		if r, ok := request.(lease.Report); ok && r.What == lease.Lost {
			return append(slices.Clone(requests), lease.Report{What: lease.Ended})
		}
	}
	return requests
}

func releaseAtUntil(_ *holder, before lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	return rewriting(requests, func(r *stored.Register) { r.Until = max(r.Until, before.View().Register.Until) })
}

func endUnreleased(_ *holder, _ lease.State, e lease.Event, requests []lease.Request) []lease.Request {
	if _, asked := e.(lease.ReleaseAsked); asked {
		return []lease.Request{lease.Report{What: lease.Ended}}
	}
	return requests
}

// TestScenariosNoticeTheLapseTheyAreAbout shows that scenarios without a mutant can fail, too. Each
// scenario is in one of the two tables.
func TestScenariosNoticeTheLapseTheyAreAbout(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // by scenario: the lapse
		"another-incarnation-ends-a-holder":                        "a lost term ends the process",
		"asked-to-end-after-any-step":                              "a process that is asked to end just ends",
		"call-waits-for-max-wait-at-most":                          "a call may wait for ten times as long",
		"clock-a-year-back":                                        "a generator follows any rollback",
		"clock-an-hour-ahead-of-others-is-refused":                 "a lost term ends the process",
		"clock-back-by-an-hour-costs-a-pool-a-term":                "a generator follows any rollback",
		"clock-back-by-less-than-max-rollback-costs-nothing":       "a generator accepts no rollback",
		"clock-nine-minutes-ahead-ends-no-term":                    "nothing is extended",
		"clock-that-steps-forward-alone-is-accepted":               "nothing is extended",
		"cloned-process-repeats-ids-to-the-end-of-the-window":      "the window is ten times as long",
		"conflict-with-oneself-costs-no-term":                      "an unacknowledged write is taken for lost",
		"clock-that-is-wrong-for-a-moment-costs-a-term-at-most":    "a lost term ends the process",
		"crash-after-any-step-costs-one-worker-id":                 "everybody wants worker 0",
		"crashed-worker-id-is-claimed-after-its-window":            "the window is ten times as long",
		"crashed-worker-id-rests-for-its-window":                   "the window is half as long",
		"extension-that-a-failover-takes-away-costs-a-term":        "nothing is extended",
		"drift-for-a-day-costs-nothing":                            "a generator accepts no rollback",
		"monotonic-clocks-that-run-fast-and-slow-cost-nothing":     "a generator accepts no rollback",
		"forked-child-of-a-borrower-claims-its-own":                "nothing is extended",
		"operator-ends-a-lease":                                    "the window is ten times as long",
		"emptied-store-is-not-founded-anew":                        "a lost term ends the process",
		"first-extension-after-a-resumption-asks-the-stores-clock": "the store's clock is not asked",
		"horizon-ends-ids":                                         "nothing is extended",
		"journal-bridges-restarts-without-the-store":               "the journal is left out",
		"journal-survives-the-loss-of-power":                       "the journal is left out",
		"late-read-of-an-older-write-costs-no-term":                "a late read of an older write is taken for a loss",
		"leap-second-costs-nothing":                                "a generator accepts no rollback",
		"living-holder-is-not-robbed":                              "the pin is ignored",
		"lossy-store-issues-after-the-loss":                        "the loss is taken for a third of the window",
		"lost-answer-costs-no-term":                                "an unacknowledged write is taken for lost",
		"machine-suspended-for-ten-hours":                          "nothing is extended",
		"machine-without-random-bits-loses-no-term":                "nothing is extended",
		"nine-nodes-on-two-worker-ids":                             "everybody wants worker 0",
		"other-layout-is-refused":                                  "every layout will do",
		"outage-longer-than-the-window-costs-no-term":              "an unacknowledged write is taken for lost",
		"outage-of-half-the-window-costs-no-call":                  "the window is half as long",
		"pinned-clock-an-hour-behind-is-refused":                   "a claim accepts any rollback",
		"pinned-worker-refuses-until-its-clock-is-back":            "the pin is ignored",
		"pinned-worker-restarts-at-once":                           "a release leaves until where it is",
		"process-stopped-for-ten-hours":                            "the pin is ignored",
		"process-stopped-past-its-window-goes-on":                  "nothing is extended",
		"quarantined-worker-id-is-not-claimed":                     "the pin is ignored",
		"register-a-year-ahead-costs-a-pool-one":                   "everybody wants worker 0",
		"register-a-year-ahead-stays-busy":                         "a claim accepts any rollback",
		"register-released-beyond-max-rollback-is-waited-for":      "a claim does not wait",
		"register-released-within-max-rollback-is-claimed":         "a claim accepts no rollback",
		"restart-behind-its-own-ticks-takes-another-worker-id":     "everybody wants worker 0",
		"rollback-beyond-the-loss-repeats-ids":                     "the window is ten times as long",
		"rollback-repeats-ids-to-the-end-of-the-window":            "the window is ten times as long",
		"stale-reads-cost-no-id":                                   "nothing is extended",
		"store-judges-a-clock-that-is-ahead":                       "the store's clock is not asked",
		"store-judges-a-clock-that-is-behind":                      "the store's clock is not asked",
		"two-datacenters-in-one-store":                             "the datacenter is ignored",
		"two-datacenters-of-two-stores":                            "the datacenter is ignored",
	}
	all, names := lapses(), scenarioFiles(t)
	for name := range tests {
		if !slices.Contains(names, name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
	for _, name := range names {
		lapse, ok := tests[name]
		if !ok {
			if !slices.ContainsFunc(aboutMutants(), func(a aboutMutant) bool { return a.scenario == name }) {
				t.Errorf("%s: nothing is known to break it", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(all, func(m mutant) bool { return m.name == lapse })
			if at < 0 {
				t.Fatalf("there is no lapse %q", lapse)
			}
			_, p := scenario(t, name)
			r := Run(p, Config{bugs: all[at].bugs(), Collect: true})
			switch err := p.Check(r.Tally); {
			case len(r.Findings) > 0:
				t.Log(r.Findings[0])
			case err != nil:
				t.Log(err)
			default:
				t.Errorf("%s, and nothing is noticed", lapse)
			}
		})
	}
}
