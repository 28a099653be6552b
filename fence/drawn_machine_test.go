package fence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
)

// machine runs one process after the other, as a supervisor does.
type machine struct {
	r    *run
	n    int
	rng  *rand.Rand // of its own goroutine
	pin  *int64
	disk disk
}

func newMachine(r *run, n int) *machine {
	m := &machine{r: r, n: n, rng: rand.New(rand.NewPCG(r.plan.seed, uint64(2+n)))}
	if n < r.plan.pins {
		worker := int64(n)
		m.pin = &worker
	}
	return m
}

// run starts one process after the other, and lets faults strike until the process ends.
func (m *machine) run() {
	for pid := 1; !isClosed(m.r.over); pid++ {
		p := newProcess(m, pid)
		if !p.open() {
			pass(spread(m.rng, m.r.plan.window/2))
			continue
		}
		var calls sync.WaitGroup
		for i := range m.r.plan.callers {
			calls.Go(func() { p.call(rand.New(rand.NewPCG(m.r.plan.seed, uint64(m.n<<20|pid<<4|i)))) })
		}
		for m.strike(p) {
		}
		calls.Wait()
	}
}

// strike lets one thing happen to a process, after a while, and returns whether the process is still there.
func (m *machine) strike(p *process) bool {
	r, rng, window := m.r, m.rng, m.r.plan.window
	select {
	case <-r.over:
		p.faulty.Follow(nil)
		p.close(time.Minute)
		return false
	case <-after(spread(rng, window)):
	}
	if isClosed(r.over) {
		return true
	}
	p.faulty.Deliver(context.Background())
	d, kind := spread(rng, 2*window), rng.IntN(6)
	r.say("%s: fault %d for %s", p, kind, d)
	switch kind {
	case 0:
		p.close(d)
		return false
	case 1: // killed, as far as a program can be that is still there
		p.faulty.Follow(noStore)
		p.close(0)
		return false
	case 2:
		r.late.Go(func() { _ = p.holder.Close(context.Background()) })
		p.close(spread(rng, r.plan.timeout))
		return false
	case 3:
		p.faulty.Follow(noStore)
		r.lasts(d, func() { p.faulty.Follow(p.weather()) })
	case 4:
		r.lasts(d, p.numb.shut())
	case 5:
		r.lasts(d, m.disk.shut())
	}
	return true
}

// lasts ends a fault after d, or with all faults.
func (r *run) lasts(d time.Duration, end func()) {
	r.late.Go(func() {
		select {
		case <-after(d):
		case <-r.over:
		}
		end()
	})
}

// process is one holder and its callers.
type process struct {
	m      *machine
	pid    int
	numb   *numb
	faulty *faultstore.Store
	holder *fence.Holder

	asked  atomic.Bool  // to close
	closed atomic.Int64 // when Close had returned, in nanoseconds
}

func newProcess(m *machine, pid int) *process {
	p := &process{m: m, pid: pid, numb: &numb{Store: m.r.memory.Client()}}
	p.faulty = faultstore.New(p.numb, p.weather(), nil)
	return p
}

func (p *process) String() string { return fmt.Sprintf("process %d.%d", p.m.n, p.pid) }

// Write takes the holder's log.
func (p *process) Write(line []byte) (int, error) {
	p.m.r.say("%s: %s", p, bytes.TrimSpace(line))
	return len(line), nil
}

// weather is the plan of the process's store: the faults of the run's rates, until everybody is to end.
func (p *process) weather() faultstore.Plan {
	if isClosed(p.m.r.over) {
		return nil
	}
	return faultstore.Seeded(p.m.r.plan.seed<<16|uint64(p.m.n<<8|p.pid), p.m.r.plan.rates)
}

// open opens the holder, and returns false if it failed.
func (p *process) open() bool {
	m, plan := p.m, p.m.r.plan
	c := fence.Config{
		Store: p.faulty, StoreName: "memory", Layout: plan.layout, Policy: plan.policy, Worker: m.pin, Window: plan.window,
		ClaimWait: plan.claimWait, RequestTimeout: plan.timeout,
		Process: fence.Process{Host: fmt.Sprintf("host-%d", m.n), PID: p.pid, Started: time.Unix(int64(p.pid), 0)},
		Logger:  slog.New(slog.NewTextHandler(p, nil)), OnLoss: func(l fence.Loss) { m.r.say("%s: lost: %v", p, l.Reason) },
	}
	m.disk.owner.Store(p)
	if plan.journals {
		c.Journal = pen{p}
	}
	most := 2*(plan.claimWait+plan.window/3+2*plan.loss+2*plan.timeout+time.Second) + 32*time.Second
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if limit := m.rng.IntN(10); limit < 3 && !isClosed(m.r.over) {
		most = spread(m.rng, plan.claimWait) * time.Duration(min(limit, 1))
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	begun := time.Now()
	var err error
	p.holder, err = fence.Open(ctx, c)
	took := time.Since(begun)
	m.r.say("%s: open after %s: %v", p, took, err)
	if err != nil {
		most += time.Second // to give its claim back
		m.disk.owner.Store(nil)
	}
	if took > most || err == nil && most == 0 {
		m.r.breaks("context", "%s: Open took %s of %s: %v", p, took, most, err)
	}
	return err == nil
}

// close closes the holder, and gives it so long.
func (p *process) close(limit time.Duration) {
	r := p.m.r
	p.asked.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	begun := time.Now()
	err := p.holder.Close(ctx)
	took := time.Since(begun)
	p.closed.Store(time.Now().UnixNano())
	p.m.disk.owner.Store(nil)
	r.say("%s is closed after %s of %s: %v", p, took, limit, err)
	if most := min(limit, 2*r.plan.timeout); took > most || err != nil && took < most {
		r.breaks("close", "%s: Close took %s of %s: %v", p, took, most, err)
	}
	if _, err := p.holder.Next(context.Background()); !errors.Is(err, fence.ErrClosed) || p.holder.Status().Ready {
		r.breaks("close", "%s: a call after Close ends with: %v", p, err)
	}
	late := spread(p.m.rng, r.plan.window/2)
	r.late.Go(func() {
		pass(late)
		p.faulty.Deliver(context.Background())
	})
}

// call calls for ids until the holder is closed.
func (p *process) call(rng *rand.Rand) {
	r, maxWait := p.m.r, p.m.r.plan.policy.MaxWait
	buffer := make([]snowfence.ID, r.plan.batch)
	for {
		pass(spread(rng, 200*time.Millisecond))
		ctx, cancel, limit := context.Background(), func() {}, maxWait
		if rng.IntN(4) == 0 {
			limit = min(maxWait, spread(rng, 2*maxWait))
			ctx, cancel = context.WithTimeout(ctx, limit)
		}
		ids := buffer[:1]
		if rng.IntN(3) == 0 {
			ids = buffer[:1+rng.IntN(len(buffer)>>rng.IntN(6))]
		}
		var err error
		begun := time.Now()
		if len(ids) == 1 {
			ids[0], err = p.holder.Next(ctx)
		} else {
			err = p.holder.Fill(ctx, ids)
		}
		p.judge(begun, limit, ctx.Err() != nil, err)
		cancel()
		switch {
		case err == nil:
			r.issued(p, ids)
		case errors.Is(err, fence.ErrClosed):
			return
		}
	}
}

// judge checks that a call ended in time, and with an error that a call may have.
func (p *process) judge(begun time.Time, limit time.Duration, ended bool, err error) {
	r, took, maxWait := p.m.r, time.Since(begun), p.m.r.plan.policy.MaxWait
	if took > limit {
		r.breaks(map[bool]string{true: "max-wait", false: "context"}[limit == maxWait], "%s: a call took %s of %s: %v", p, took, limit, err)
	}
	closed := p.closed.Load()
	if now := time.Now().UnixNano(); closed > 0 && now > max(closed, begun.UnixNano()) || err == nil && closed > 0 && closed < begun.UnixNano() {
		r.breaks("close", "%s: a call of %s ends %s after Close: %v", p, took, time.Duration(now-closed), err)
	}
	var unavailable *fence.UnavailableError
	switch {
	case err == nil, errors.Is(err, fence.ErrClosed) && p.asked.Load():
	case ended && errors.Is(err, context.DeadlineExceeded):
	case errors.As(err, &unavailable) && unavailable.For >= maxWait:
	case errors.As(err, new(*snowfence.WaitError)):
	case p.m.r.plan.loss > 0 && errors.Is(err, fence.ErrNamespaceReplaced): // it was lost, and another process made it anew
	default:
		r.breaks("max-wait", "%s: a call failed after %s: %v", p, took, err)
	}
}
