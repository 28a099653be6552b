package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

// ErrUnknown is returned for a namespace that this daemon's generators do not use, and for one that was
// not read yet.
var ErrUnknown = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: nothing is known of the namespace")

// Config has the sources of a [View]. All must be given.
type Config struct {
	Service    front.Service
	Generators map[string]config.Generator // as the settings have them
	Pools      []Pool                      // the namespaces that they mint in; one that is named twice counts once
	Process    stored.Process              // this daemon, as its registers name it
	Clock      snowfence.Clock
	Requests   func() map[string]Requests // by the store's name; counted since the start
	Flags      map[Place]string           // of commands, as in [Namespace]
	Events     *Events
	TLS        func(now time.Time) string // what is wrong with the certificate of the fronts, or nothing; may be nil
}

// Place is a namespace in a store, by the store's name in stores.
type Place struct{ StoreName, Namespace string }

// Requests counts requests to a store.
type Requests struct {
	Answered, Failed uint64
	Took             time.Duration // of all that were answered; lists are not among them
}

// Census counts the worker ids of a namespace.
type Census struct {
	Pool
	roster.Census
}

// View is the daemon as it looks from outside. Its verbs are safe for concurrent use. They show the
// namespaces that [View.Run] reads.
type View struct {
	config Config
	spaces []*space

	mu    sync.Mutex // guards marks and hour
	marks []totals   // of the last ten seconds, or a little more
	hour  []totals   // a total each HistoryStep
}

// New returns a view that has read nothing yet.
func New(c Config) *View {
	v := &View{config: c}
	for _, pool := range c.Pools {
		if v.space(pool.StoreName, pool.Namespace) == nil {
			v.spaces = append(v.spaces, newSpace(pool, c.Process, c.Clock))
		}
	}
	return v
}

// Run reads the namespaces that somebody asks for, and takes a point of the history every [HistoryStep], until the context
// ends. Then nothing of it runs any more.
func (v *View) Run(ctx context.Context) {
	var reads sync.WaitGroup
	defer reads.Wait()
	for _, s := range v.spaces {
		reads.Go(func() { s.run(ctx) })
	}
	for ctx.Err() == nil {
		v.sample()
		expired, stop := v.config.Clock.After(HistoryStep)
		select {
		case <-expired:
		case <-ctx.Done():
		}
		stop()
	}
}

// State shows all. It asks for the namespaces to be read again, and waits a moment for one that was not read lately.
func (v *View) State(ctx context.Context) State {
	v.await(ctx, v.spaces...)
	now, statuses, refusals := v.config.Clock.Wall().UTC(), v.config.Service.Statuses(), v.config.Service.Refusals()
	p := v.config.Process
	s := State{
		Taken:  now,
		Daemon: Daemon{Host: p.Host, PID: p.PID, Version: p.Version, Started: p.Started.UTC()},
		Events: v.config.Events.newest(), Generators: []Generator{}, Namespaces: []Namespace{},
		Refusals: append([]front.Refusal{}, refusals[:min(len(refusals), MaxRefusals)]...),
	}
	counted := v.total(statuses)
	before := v.mark(counted)
	for _, status := range statuses {
		g := v.generator(status)
		g.Rate = counted.since(before, counted.ids[g.Name], before.ids[g.Name])
		s.Generators = append(s.Generators, g)
	}
	for _, space := range v.spaces {
		n := space.namespace()
		n.Flags = v.config.Flags[Place{n.Store, n.Name}]
		s.Namespaces = append(s.Namespaces, n)
	}
	s.Problems = v.problems(statuses, s)
	return s
}

// Workers returns the worker ids of a namespace from one number up to and with another, [MaxRange] of them at most. An error
// wrapping [ErrUnknown] is returned if nothing is known of the namespace.
func (v *View) Workers(ctx context.Context, store, namespace string, from, to int64) ([]Worker, error) {
	s := v.space(store, namespace)
	if s == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, namespace)
	}
	v.await(ctx, s)
	last, err := s.shown()
	if last == nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrUnknown, namespace, cmp.Or(err, context.DeadlineExceeded))
	}
	workers, from := []Worker{}, max(from, 0)
	for number := from; number <= to && number-from < MaxRange && number < last.layout().Workers(); number++ {
		workers = append(workers, last.worker(number))
	}
	return workers, nil
}

// Censuses returns the last count of each namespace that could be read the last time, and asks for a new one when that is a
// minute old, or a hundred times as old as the count took. It waits for nothing.
func (v *View) Censuses() (all []Census) {
	for _, s := range v.spaces {
		s.ask(time.Minute, 100)
		if last, err := s.shown(); last != nil && err == nil {
			all = append(all, Census{s.Pool, last.census})
		}
	}
	return all
}

// await asks for namespaces to be read. For an old snapshot it waits, at most firstWait.
func (v *View) await(ctx context.Context, spaces ...*space) {
	expired, stop := v.config.Clock.After(firstWait)
	defer stop()
	var reads []<-chan struct{}
	for _, s := range spaces {
		if read := s.look(); read != nil {
			reads = append(reads, read)
		}
	}
	for _, read := range reads {
		select {
		case <-read:
		case <-expired:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (v *View) space(store, namespace string) *space {
	i := slices.IndexFunc(v.spaces, func(s *space) bool { return s.StoreName == store && s.Namespace == namespace })
	if i < 0 {
		return nil
	}
	return v.spaces[i]
}
