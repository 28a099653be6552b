package daemon

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
)

// A generator that can't be opened is tried again after firstPause, which doubles up to mostPause. A
// refusal lasts until an operator acts, so a refused generator pauses for refusedPause at once.
const firstPause, mostPause, refusedPause = time.Second, 5 * time.Second, 30 * time.Second

// openStores makes the stores that generators use. One on a server is opened when a generator first needs
// it, so the daemon starts though that server is away. A folder is opened now, because its faults last,
// unless a journal can do without the folder for a while.
func (d *daemon) openStores(ctx context.Context, watch *metrics.Stopwatch) error {
	lazy := map[string]bool{} // by name
	for _, g := range d.settings.Generators {
		if builtin.OnStore(g.Kind) {
			lazy[storeName(g)] = lazy[storeName(g)] || g.Journal == config.JournalOn
		}
	}
	for name, lazy := range lazy {
		url, what := d.settings.Stores[name], "store "+name
		if name == "" {
			url, what = d.settings.Store, "store"
		}
		d.log.Info("opening the store", "store", d.settings.ShowStore(url)) // a server that is away is silent for a while
		s, err := d.openStore(ctx, url, lazy || !engine.Local(url))
		if err != nil {
			return &OpenError{what, err}
		}
		d.stores[name] = watch.Time(name, s)
	}
	return nil
}

// storeName is the name of the store that a generator uses.
func storeName(g config.Generator) string {
	if len(g.Stores) == 0 {
		return ""
	}
	return g.Stores[0]
}

// namespaces returns the namespaces of the fenced generators, in the order of the generators' names.
func (d *daemon) namespaces() (pools []view.Pool) {
	for _, name := range slices.Sorted(maps.Keys(d.settings.Generators)) {
		if g := d.settings.Generators[name]; g.Fenced() {
			pools = append(pools, view.Pool{StoreName: storeName(g), Store: d.stores[storeName(g)], Namespace: g.Namespace})
		}
	}
	return pools
}

func (d *daemon) openStore(ctx context.Context, url string, lazy bool) (store.Store, error) {
	if lazy {
		if err := openstore.CheckFiles(url); err != nil {
			return nil, err
		}
		return openstore.Lazy(url, d.settings.StoreMustExist, func(s store.Store) { d.introduce(url, s) })
	}
	s, err := openstore.OpenFor(ctx, url, d.settings.StoreMustExist)
	if err == nil {
		d.introduce(url, s)
	}
	return s, err
}

func (d *daemon) closeStores() error {
	var errs []error
	for _, s := range d.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// introduce logs the warnings of an opened store.
func (d *daemon) introduce(url string, s store.Store) {
	log := d.log.With("store", d.settings.ShowStore(url))
	for _, warning := range openstore.Warnings(s) {
		log.Warn(warning)
	}
	if engine.Private(url) {
		log.Warn("the store is of this process alone: ids are unique within this process, and forgotten when it ends")
		return
	}
	// Its traits do not change, so an error here shows again where it matters.
	if traits, err := s.Traits(context.Background()); err == nil && traits.OneHost {
		log.Info("the store is of one host: ids are unique among the processes that share it, not beyond")
	}
}

// open opens every generator, each in a goroutine of its own, until it serves or the context ends. It calls
// failed once every generator is refused.
func (d *daemon) open(ctx context.Context, failed func(error)) {
	for name := range d.settings.Generators {
		d.opening.Go(func() {
			pause := firstPause
			for {
				err := d.try(ctx, name)
				if err == nil || ctx.Err() != nil {
					return
				}
				if d.refuses(name, err) {
					failed(&OpenError{"generator " + name, err})
					return
				}
				if backwards := new(counter.BackwardsError); refusal(err) || errors.As(err, &backwards) {
					pause = refusedPause
					d.service.Refuse(name, err, pause)
					d.log.Error("the generator is refused: it is tried again, and needs an operator", "generator", name, "in", pause, "error", err)
				} else {
					d.service.Refuse(name, err, 0)
					d.log.Warn("the generator can't start yet: it is tried again", "generator", name, "in", pause, "error", err)
				}
				d.sleep(ctx, pause)
				pause = min(2*pause, mostPause)
			}
		})
	}
}

// try opens a generator, which then serves.
func (d *daemon) try(ctx context.Context, name string) error {
	g := d.settings.Generators[name]
	var s store.Store // nil for kinds without a store: another generator's store must not delay them
	if builtin.OnStore(g.Kind) {
		s = d.stores[storeName(g)]
	}
	if s != nil && !g.Fenced() {
		// It opens the store. Holders do that, and can do without it if they have a journal.
		traits, err := s.Traits(ctx)
		if err != nil {
			return err
		}
		if traits.Loss > 0 {
			d.log.Info("opening the generator, which may wait until the store can't lose its reservations", "generator", name, "for", traits.Loss)
		}
	}
	minter, err := d.openers[name](ctx, kind.Spec{Generator: name, Store: s, Namespace: g.Namespace})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.minters[name] = minter // to be closed, whatever comes
	if err := d.service.Serve(name, minter); err != nil {
		return err
	}
	d.announce(name)
	if len(d.minters) == len(d.settings.Generators) && d.config.Serving != nil {
		d.config.Serving()
	}
	return nil
}

// refusal reports whether an error is of a kind that time does not mend.
func refusal(err error) bool {
	switch snowfence.ClassOf(err) {
	case snowfence.ClassUsage, snowfence.ClassFinal:
		return true
	}
	return errors.Is(err, snowfence.ErrPastHorizon) || errors.Is(err, store.ErrDamaged)
}

// refuses notes why a generator could not be opened, and reports whether all generators are refused.
func (d *daemon) refuses(name string, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refused, name)
	if refusal(err) {
		d.refused[name] = err
	}
	return len(d.refused) == len(d.settings.Generators)
}

// sleep waits, or until the context ends.
func (d *daemon) sleep(ctx context.Context, pause time.Duration) {
	expired, stop := d.clock.After(pause)
	defer stop()
	select {
	case <-expired:
	case <-ctx.Done():
	}
}

// announce logs a generator that serves, with the worker id that it holds and until when.
func (d *daemon) announce(name string) {
	for _, status := range d.service.Statuses() {
		if status.Name != name {
			continue
		}
		attributes := []any{"generator", status.Name, "kind", status.Kind, "namespace", status.Namespace}
		for _, s := range d.fronts {
			attributes = append(attributes, s.name, s.listener.Addr().String())
		}
		if l := status.Lease; l != nil {
			at := d.settings.StoresOf(d.settings.Generators[name])[0]
			attributes = append(attributes, "store", d.settings.ShowStore(at), "worker", l.Worker, "term", l.Term, "until", l.Layout.TimeOf(l.Until).UTC())
		}
		d.log.Info("serving", attributes...)
	}
}

// Process describes this process, for people who read its registers.
func Process(version string, started time.Time) fence.Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fence.Process{Host: host, PID: os.Getpid(), Version: version, Started: started}
}
