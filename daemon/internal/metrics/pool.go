package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
)

// A count of worker ids reads every register. So there is one a minute at most, and it takes one part in
// countShare of the time at most.
const (
	countPause = time.Minute
	countShare = 100
	countLimit = 30 * time.Second // of one count
)

// Pool is a namespace whose worker ids are counted.
type Pool struct {
	StoreName string // in stores; empty for the store of the configuration
	Store     store.Store
	Namespace string
}

// Pools is a collector of how many worker ids of each namespace are in which state. A scrape shows the last
// count, and starts the next one in the background if it is due: so no scrape waits for a store, the first
// one shows nothing, and a daemon that is not scraped counts nothing. A namespace that could not be counted
// is left out. It is safe for concurrent use.
type Pools struct {
	pools  []Pool
	clock  snowfence.Clock
	desc   *prometheus.Desc
	lent   *prometheus.Desc
	counts sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	stop   context.CancelFunc // ends the count that is under way; nil without one
	due    time.Duration      // by the monotonic clock
	last   []roster.Census    // of each pool; without Counts if it could not be counted
}

// NewPools returns a collector of these namespaces, each once.
func NewPools(clock snowfence.Clock, pools []Pool) *Pools {
	p := &Pools{clock: clock, desc: prometheus.NewDesc("snowfence_namespace_workers",
		"Worker ids of a namespace by state, as counted a minute ago or so: free, held, resting, quarantined, foreign, unreadable, used-up.",
		[]string{"store", "namespace", "state"}, nil), lent: prometheus.NewDesc("snowfence_namespace_workers_lent",
		"Held worker ids of a namespace that borrowers have, as counted a minute ago or so.", []string{"store", "namespace"}, nil)}
	for _, pool := range pools {
		if !slices.Contains(p.pools, pool) {
			p.pools = append(p.pools, pool)
		}
	}
	return p
}

// Close ends a count that is under way. No other one begins.
func (p *Pools) Close() {
	p.mu.Lock()
	p.closed = true
	if p.stop != nil {
		p.stop()
	}
	p.mu.Unlock()
	p.counts.Wait()
}

// Describe sends what Collect may send.
func (p *Pools) Describe(descs chan<- *prometheus.Desc) {
	descs <- p.desc
	descs <- p.lent
}

// Collect shows the last count.
func (p *Pools) Collect(metrics chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop == nil && !p.closed && p.clock.Monotonic() >= p.due {
		ctx, stop := context.WithCancel(context.Background())
		p.stop = stop
		p.counts.Go(func() {
			defer stop()
			p.count(ctx)
		})
	}
	for i, census := range p.last {
		if census.Counts != nil {
			metrics <- prometheus.MustNewConstMetric(p.lent, prometheus.GaugeValue, float64(census.Lent), p.pools[i].StoreName, p.pools[i].Namespace)
		}
		for state, n := range census.Counts {
			metrics <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, float64(n), p.pools[i].StoreName, p.pools[i].Namespace, string(state))
		}
	}
}

// count counts every pool.
func (p *Pools) count(ctx context.Context) {
	begun := p.clock.Monotonic()
	counted := make([]roster.Census, len(p.pools))
	for i, pool := range p.pools {
		if census, err := p.census(ctx, pool); err == nil {
			counted[i] = census
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Monotonic()
	p.last, p.stop, p.due = counted, nil, now+max(countPause, countShare*(now-begun))
}

func (p *Pools) census(ctx context.Context, pool Pool) (roster.Census, error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	r, err := roster.Open(ctx, roster.Config{Store: pool.Store, Namespace: pool.Namespace, Clock: p.clock})
	if err != nil {
		return roster.Census{}, err
	}
	census := r.Census()
	for _, state := range roster.States() {
		census.Counts[state] += 0 // so that a state without a worker id shows 0
	}
	for w, err := range r.Workers(ctx) {
		if err != nil {
			return roster.Census{}, err
		}
		r.Count(&census, w)
	}
	return census, nil
}
