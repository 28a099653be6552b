package fence_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
)

// plan is what a run is about. It follows from the seed alone.
type plan struct {
	seed      uint64
	machines  int
	callers   int
	pins      int // this many are pinned, two to a worker id now and then
	journals  bool
	quits     bool // some processes end when they lose a term
	engine    bool // the store has a clock
	layout    snowfence.Layout
	policy    snowfence.Policy
	window    time.Duration
	claimWait time.Duration
	timeout   time.Duration
	ahead     time.Duration
	loss      time.Duration
	length    time.Duration
	pause     time.Duration // between the calls of one caller
	batch     int
	rough     float64 // how often single calls of the store fail
	repeats   float64
	lates     float64
}

func draw(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 0x5e11))
	p := plan{
		seed:     seed,
		machines: 2 + rng.IntN(4), callers: 1 + rng.IntN(4),
		journals: rng.IntN(3) == 0, quits: rng.IntN(4) == 0, engine: rng.IntN(4) == 0,
		window: time.Duration(1000+rng.IntN(5000)) * time.Millisecond,
		pause:  200 * time.Millisecond, batch: 1500,
		rough: float64(rng.IntN(4)) / 3, repeats: 0.1 * float64(rng.IntN(2)), lates: 0.1 * float64(rng.IntN(2)),
	}
	if rng.IntN(2) == 0 {
		p.pins = 1 + rng.IntN(p.machines)
	}
	p.layout = snowfence.DefaultLayout()
	p.layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: workerBits}, {Kind: snowfence.Sequence, Bits: sequenceBits},
	}
	p.layout.Epoch = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	if rng.IntN(4) == 0 {
		p.layout.Epoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	if rng.IntN(3) == 0 {
		p.layout.Unit = 10 * time.Millisecond
	}
	p.policy = snowfence.Policy{
		MaxWait:     time.Duration(50+rng.IntN(950)) * time.Millisecond,
		MaxRollback: time.Duration(rng.IntN(2000)) * time.Millisecond,
		MaxBurst:    max(time.Nanosecond, time.Duration(rng.IntN(30)-2)*time.Millisecond),
	}
	if rng.IntN(4) == 0 {
		// Batches that take about as long as a call may wait.
		p.layout.Unit, p.policy.MaxWait = 10*time.Millisecond, time.Duration(20+rng.IntN(200))*time.Millisecond
		p.batch = int(p.policy.MaxWait/p.layout.Unit) << sequenceBits
	}
	if rng.IntN(3) == 0 {
		p.loss = time.Duration(1+rng.Int64N(int64(p.window/4)/int64(time.Millisecond))) * time.Millisecond
	}
	if p.batch > 1500 {
		p.callers = min(p.callers, 2)
	}
	p.timeout = max(p.window/6, 50*time.Millisecond)
	p.claimWait = p.window + time.Duration(rng.IntN(1000))*time.Millisecond
	p.ahead = time.Duration(50+rng.IntN(500)) * time.Millisecond
	p.length = 5 * p.window
	if rng.IntN(6) == 0 {
		// Windows that end before the next is acknowledged, again and again.
		p.window, p.loss, p.rough = time.Duration(60+rng.IntN(200))*time.Millisecond, 0, 1
		p.timeout, p.claimWait, p.length = p.window, 2*p.window, 20*p.window
		p.layout.Unit, p.policy.MaxWait = 10*time.Millisecond, time.Duration(40+rng.IntN(150))*time.Millisecond
		p.batch, p.callers = int(p.policy.MaxWait/p.layout.Unit)<<sequenceBits, min(p.callers, 2)
	}
	return p
}

func (p plan) String() string {
	layout := p.layout.String()
	p.layout = snowfence.Layout{}
	type plain plan
	return fmt.Sprintf("%+v, layout %s", plain(p), layout)
}

// openWithin is the longest that Open may take: the store's traits, the journal,
// a resumption that was given up, and a claim that was begun anew because the
// clock was set right meanwhile.
func (p plan) openWithin() time.Duration {
	return 2*(p.claimWait+p.window/3+2*p.loss+2*p.timeout+time.Second) + 8*time.Second + 24*p.ahead
}
