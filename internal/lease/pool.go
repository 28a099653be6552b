package lease

import (
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// blockDigits is how many digits of a key are left open when registers are listed. So at
// most a thousand come at once.
const blockDigits = 3

// pool is the set of worker numbers that a claim may use: disjoint spans in
// ascending order. It is never written to once it is made.
type pool struct {
	layout snowfence.Layout
	prefix string // of the keys of the registers
	spans  []span
	size   int64
}

// span is the worker numbers in [low, high).
type span struct{ low, high int64 }

// newPool returns the workers of the datacenters, which stand in ascending
// order; all workers if there are none given.
func newPool(namespace string, layout snowfence.Layout, datacenters []int64) (pool, error) {
	p := pool{layout: layout, prefix: stored.RegisterPrefix(namespace)}
	if len(datacenters) == 0 {
		p.add(span{0, layout.Workers()})
		return p, nil
	}
	for _, d := range datacenters {
		first, err := layout.WorkerNumber(d, 0)
		if err != nil {
			return pool{}, fmt.Errorf("use datacenter %d: %w", d, err)
		}
		p.add(span{first, first + 1<<layout.Bits(snowfence.Worker)})
	}
	return p, nil
}

// add appends a span above all others, or joins it to the last one.
func (p *pool) add(s span) {
	p.size += s.high - s.low
	if last := len(p.spans) - 1; last >= 0 && p.spans[last].high == s.low {
		p.spans[last].high = s.high
		return
	}
	p.spans = append(p.spans, s)
}

// only returns the pool of that one worker, and false if it is not in p.
func (p pool) only(worker int64) (pool, bool) {
	for _, s := range p.spans {
		if s.low <= worker && worker < s.high {
			p.spans, p.size = []span{{worker, worker + 1}}, 1
			return p, true
		}
	}
	return pool{}, false
}

// within returns p's part of a range.
func (p pool) within(r Range) pool {
	narrow := pool{layout: p.layout, prefix: p.prefix}
	for _, s := range p.spans {
		if low, high := max(s.low, r.First), min(s.high, r.Last+1); low < high {
			narrow.add(span{low, high})
		}
	}
	return narrow
}

// at returns the i-th worker number, for i from 0 to size-1.
func (p pool) at(i int64) int64 {
	for _, s := range p.spans {
		if i < s.high-s.low {
			return s.low + i
		}
		i -= s.high - s.low
	}
	return p.spans[0].low
}

// block is a run of keys that share all but their last three digits.
type block struct {
	prefix  string
	members span  // the worker numbers that its keys stand for, in the pool or not
	next    int64 // the first worker of the pool beyond it, around the end
}

// block returns the block of the keys around a worker number.
func (p pool) block(worker int64) block {
	digits := stored.WorkerDigits(p.layout, worker)
	open := min(blockDigits, len(digits))
	size := int64(1)
	for range open {
		size *= 10
	}
	low := worker / size * size
	b := block{
		prefix:  p.prefix + digits[:len(digits)-open],
		members: span{low, low + size},
		next:    p.spans[0].low,
	}
	for _, s := range p.spans {
		if s.high > b.members.high {
			b.next = max(s.low, b.members.high)
			break
		}
	}
	return b
}

// workers returns the block's worker numbers that are in the pool.
func (p pool) workers(b block) []int64 {
	var workers []int64
	for _, s := range p.spans {
		for w := max(s.low, b.members.low); w < min(s.high, b.members.high); w++ {
			workers = append(workers, w)
		}
	}
	return workers
}

// Pool returns which worker numbers a claim may use of a namespace, and how many they are. An error is returned for a config
// that the namespace has no worker id for.
func (c Config) Pool(n stored.Namespace) (has func(worker int64) bool, size int64, err error) {
	p, err := c.claims(n)
	return func(worker int64) bool { _, ok := p.only(worker); return ok }, p.size, err
}
