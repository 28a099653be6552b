package fence_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// plan is the input of a run. It follows from the seed alone.
type plan struct {
	seed                                     uint64
	machines, callers, pins, batch           int
	journals                                 bool
	layout                                   snowfence.Layout
	policy                                   snowfence.Policy
	window, claimWait, timeout, loss, length time.Duration
	rates                                    faultstore.Rates
}

func draw(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	some := func() float64 { return [...]float64{0, 0.02, 0.1, 0.3}[rng.IntN(4)] }
	p := plan{
		seed: seed, machines: 2 + rng.IntN(4), callers: 1 + rng.IntN(4), batch: 64, journals: rng.IntN(3) == 0,
		window: time.Duration(1000+rng.IntN(5000)) * time.Millisecond,
		layout: bubbleLayout(),
		policy: snowfence.Policy{
			MaxWait:  time.Duration(50+rng.IntN(950)) * time.Millisecond,
			MaxBurst: max(time.Nanosecond, time.Duration(rng.IntN(30)-2)*time.Millisecond),
		},
		rates: faultstore.Rates{Before: some(), Late: some(), Stale: some(), LostReply: some(), Again: some(), Delay: some()},
	}
	p.layout.Epoch = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	p.layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 8}, {Kind: snowfence.Sequence, Bits: 5},
	}
	if rng.IntN(2) == 0 {
		p.pins = 1 + rng.IntN(p.machines)
	}
	if rng.IntN(3) == 0 {
		p.loss = time.Duration(1+rng.Int64N(int64(p.window/4)/int64(time.Millisecond))) * time.Millisecond
	}
	p.timeout, p.claimWait, p.length = p.window/6, p.window+time.Duration(rng.IntN(1000))*time.Millisecond, 5*p.window
	if rng.IntN(4) == 0 { // windows that end before the next is acknowledged, and batches that take about max-wait
		p.window, p.loss = time.Duration(60+rng.IntN(200))*time.Millisecond, 0
		p.timeout, p.claimWait, p.length = p.window, 2*p.window, 20*p.window
		p.layout.Unit, p.policy.MaxWait = 10*time.Millisecond, time.Duration(40+rng.IntN(150))*time.Millisecond
		p.batch = int(p.policy.MaxWait/p.layout.Unit) << 5
	}
	p.rates.MaxDelay = 2 * p.timeout
	return p
}

// spread draws a duration of up to most, short ones as often as long ones.
func spread(rng *rand.Rand, most time.Duration) time.Duration {
	return max(time.Millisecond, time.Duration(rng.Int64N(int64(most>>rng.IntN(6))+1)))
}

// gate holds up everybody who comes while it is shut.
type gate struct{ closed atomic.Pointer[chan struct{}] }

func (g *gate) wait() {
	if c := g.closed.Load(); c != nil {
		<-*c
	}
}

// shut shuts the gate until the function that it returns is called.
func (g *gate) shut() (open func()) {
	c := make(chan struct{})
	if !g.closed.CompareAndSwap(nil, &c) {
		return func() {}
	}
	return func() {
		g.closed.Store(nil)
		close(c)
	}
}

// numb is a store that heeds no context while its gate is shut.
type numb struct {
	store.Store
	gate
}

func (n *numb) Get(ctx context.Context, key string) (store.Entry, error) {
	n.wait()
	return n.Store.Get(ctx, key)
}

func (n *numb) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	n.wait()
	return n.Store.Swap(context.WithoutCancel(ctx), key, prev, value)
}

// disk keeps a machine's page for the process that owns it. Writes wait at its gate.
type disk struct {
	gate
	owner atomic.Pointer[process]

	mu   sync.Mutex
	page []byte
}

// pen is how a process writes on its machine's disk, until the process has ended.
type pen struct{ *process }

func (p pen) write(do func(page *[]byte)) error {
	d := &p.m.disk
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owner.Load() != p.process {
		return errDisk
	}
	do(&d.page)
	return nil
}

func (p pen) Take() (taken []byte, err error) {
	err = p.write(func(page *[]byte) { taken, *page = *page, nil })
	return taken, err
}

func (p pen) Keep(page []byte) error {
	return p.write(func(kept *[]byte) { *kept = bytes.Clone(page) })
}

func (p pen) Discard() error { return p.write(func(page *[]byte) { *page = nil }) }

func after(d time.Duration) <-chan time.Time {
	expired, _ := snowfence.SystemClock().After(d)
	return expired
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
