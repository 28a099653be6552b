package fence_test

import (
	"context"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
)

// look compares the status of each process with what a call finds at the same
// moment, when nothing else is under way.
func (w *world) look() {
	synctest.Wait()
	for _, m := range w.machines {
		m.mu.Lock()
		p := m.process
		m.mu.Unlock()
		if p != nil && !p.asked.Load() && !m.clock.isStopped() {
			p.look()
			synctest.Wait()
		}
	}
}

func (p *process) look() {
	w, m := p.m.w, p.m
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := p.holder.Load().Status()
	turn := w.turn.Add(1)
	id, err := p.holder.Load().Next(ctx)
	again := p.holder.Load().Status()
	busy := p.waiting.Load() > 0 || s.Generator.Reserved > s.Generator.Now
	if err == nil {
		w.issued(p, turn, []snowfence.ID{id})
	}
	switch {
	case p.asked.Load() || !m.clock.settled():
		return
	case s.Ready && err != nil && again.Ready && !busy:
		w.breaks("status", "%s is ready, and a call fails: %v; %+v", p, err, s)
	case !s.Ready && err == nil && !again.Ready:
		w.breaks("status", "%s is not ready, and a call succeeds: %+v", p, s)
	case s.Ready && (s.Phase != "holding" && s.Phase != "comparing" || s.Left <= 0 || s.Term == 0):
		w.breaks("status", "%s is ready: %+v", p, s)
	case s.Ready && s.LastError != nil:
		w.breaks("status", "%s is ready, and has a last error: %v", p, s.LastError)
	case !s.Ready && s.LastError == nil && s.Phase != "releasing":
		w.breaks("status", "%s is not ready, and has no last error, in phase %s", p, s.Phase)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Losses != uint64(len(p.losses)) && s.Losses == again.Losses {
		w.broken("counters", "%s counts %d losses, and was told of %d", p, s.Losses, len(p.losses))
	}
	if s.Term > 0 {
		w.bounds(p, s.Worker, s.Term, s.Until)
		w.bounds(p, s.Worker, s.Term, s.Generator.Until)
	}
	p.lines.Lock()
	defer p.lines.Unlock()
	if s.Outages != p.lines.stopped && again.Outages == s.Outages {
		w.broken("counters", "%s counts %d outages, and told of %d", p, s.Outages, p.lines.stopped)
	}
	p.lasts(s.Ready && again.Ready, !s.Ready && !again.Ready)
	if p.lines.resumed > p.lines.stopped || p.lines.stopped > p.lines.resumed+1 {
		w.broken("counters", "%s told of %d outages and %d ends", p, p.lines.stopped, p.lines.resumed)
	}
}

// lasts checks that an outage is told of while it lasts: when each look of some
// time found the same. It needs w.mu and the lock of p.lines.
func (p *process) lasts(ready, unready bool) {
	now := p.m.w.now()
	stood, _ := p.m.clock.standing()
	if stood != p.seen.stood || ready != p.seen.ready || unready != p.seen.unready {
		p.seen.since, p.seen.stood, p.seen.ready, p.seen.unready = now, stood, ready, unready
	}
	lasted := now - max(p.seen.since, p.lines.at)
	switch late := p.m.w.plan.policy.MaxWait + 2500*time.Millisecond; { // a second of it without random bits
	case lasted < late:
	case ready && p.lines.down:
		p.m.w.broken("counters", "%s is ready for %s, and has not told so", p, lasted)
	case unready && !p.lines.down:
		p.m.w.broken("counters", "%s is not ready for %s, and has not told so", p, lasted)
	}
}

// bounds checks a bound that a status shows. It needs w.mu.
func (w *world) bounds(p *process, worker, term int64, until snowfence.Tick) {
	for _, t := range w.held[worker] {
		if t.number == term && t.m == p.m {
			if until <= t.usable {
				return
			}
		}
	}
	if until > 0 {
		w.broken("acknowledged", "%s shows until %d of term %d of worker %d, more than it was told of", p, until, term, worker)
	}
}
