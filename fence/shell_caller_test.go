package fence_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// call calls for ids until the holder is closed.
func (p *process) call(rng *rand.Rand) {
	w, m := p.m.w, p.m
	var last struct {
		id snowfence.ID
		t  *tenure
	}
	buffer := make([]snowfence.ID, w.plan.batch)
	for {
		pass(spread(rng, w.plan.pause))
		if over := time.Duration(p.over.Load()); over > 0 && w.now() > over+2*w.plan.pause {
			return // a call since then has said why this is wrong
		}
		if m.clock.isStopped() {
			_, goOn := m.clock.standing()
			<-goOn
		}
		ctx, cancel := context.Background(), func() {}
		limit := time.Duration(-1)
		if rng.IntN(4) == 0 {
			limit = spread(rng, 2*w.plan.policy.MaxWait)
			ctx, cancel = context.WithTimeout(ctx, limit)
		}
		ids := buffer[:1]
		if rng.IntN(3) == 0 {
			ids = buffer[:1+rng.IntN(w.plan.batch>>rng.IntN(8))]
		}
		turn, begun := w.turn.Add(1), w.now()
		stood, _ := m.clock.standing()
		var err error
		p.waiting.Add(1)
		if len(ids) == 1 {
			ids[0], err = p.holder.Load().Next(ctx)
		} else {
			err = p.holder.Load().Fill(ctx, ids)
		}
		p.waiting.Add(-1)
		after, _ := m.clock.standing()
		took := w.now() - begun - (after - stood)
		if over := time.Duration(p.over.Load()); over > 0 && w.now() > max(over, begun) && after == stood {
			w.breaks("closed", "%s: a call still waited %s after Close had returned: %v", p, w.now()-over, err)
		}
		p.waited(took, limit, err)
		ended := ctx.Err() != nil
		cancel()
		if err == nil {
			if t := w.issued(p, turn, ids); t != nil {
				if last.t == t && ids[0] <= last.id {
					w.breaks("order", "%s issued %d after %d in one term", p, ids[0], last.id)
				}
				last.t, last.id = t, ids[len(ids)-1]
			}
			m.mu.Lock()
			m.issues = true
			m.mu.Unlock()
			continue
		}
		p.judge(err, ended)
		if errors.Is(err, fence.ErrClosed) {
			return
		}
	}
}

// waited checks how long a call took.
func (p *process) waited(took, limit time.Duration, err error) {
	w := p.m.w
	if took > w.plan.policy.MaxWait {
		w.breaks("waiting", "%s: a call took %s, and max-wait is %s: %v", p, took, w.plan.policy.MaxWait, err)
	}
	if limit >= 0 && took > limit {
		w.breaks("waiting", "%s: a call took %s, its context lasted %s: %v", p, took, limit, err)
	}
	w.mu.Lock()
	w.faults[longest] = max(w.faults[longest], int(100*took/w.plan.policy.MaxWait))
	w.mu.Unlock()
}

// judge checks that a call failed with what a call may fail with.
func (p *process) judge(err error, ended bool) {
	w := p.m.w
	var unavailable *fence.UnavailableError
	var wait *snowfence.WaitError
	switch {
	case errors.Is(err, fence.ErrClosed):
		if !p.asked.Load() {
			w.breaks("errors", "%s: nobody closes it: %v", p, err)
		}
	case errors.As(err, &unavailable):
		if unavailable.For < w.plan.policy.MaxWait && !p.failed.Load() && !(ended && errors.Is(err, context.DeadlineExceeded)) {
			w.breaks("errors", "%s: gave up too early: %v", p, err)
		}
	case errors.Is(err, context.DeadlineExceeded):
		if !ended {
			w.breaks("errors", "%s: its context has not ended: %v", p, err)
		}
	case errors.As(err, &wait), errors.Is(err, snowfence.ErrBeforeEpoch):
	default:
		w.breaks("errors", "%s: a call failed with: %v", p, err)
	}
}
