package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/kinds"
	"snowfence.example/snowfence/cmd/snowfence/internal/metrics"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/listen"
	"snowfence.example/snowfence/kind"
	"snowfence.example/snowfence/store"
)

// Settings are what a configuration file can say; see [DefaultSettings] and [Load].
type Settings = config.Config

// Generator is what the settings say of one source of ids.
type Generator = config.Generator

// Sources are what [Load] reads settings from.
type Sources = config.Sources

// DefaultSettings returns those without a configuration; a Data directory or a Store is missing.
func DefaultSettings() Settings { return config.Default() }

// Load reads settings from a file, the environment and flags. Sources.Kinds names the kinds that
// are given to [Run].
func Load(sources Sources) (Settings, error) {
	sources.Kinds = append(kinds.Names(), sources.Kinds...)
	return config.Load(sources)
}

// Config says what a daemon serves and what it goes by.
type Config struct {
	// Settings are what the daemon serves.
	Settings Settings

	// Clock is where the time comes from. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Logger gets the log. Nil means that nothing is logged.
	Logger *slog.Logger

	// Version is the program's version, for metrics and registers.
	Version string

	// Listening is called once with the address that the HTTP front accepts
	// connections on, before worker ids are claimed. Nil means no call.
	Listening func(http net.Addr)

	// Serving is called once, when every generator can mint. Nil means no call.
	Serving func()
}

// OpenError is returned by [Run] when the store or a generator can't be opened.
type OpenError struct {
	What string // "store", or "generator" and its name
	Err  error
}

func (e *OpenError) Error() string { return fmt.Sprintf("open %s: %v", e.What, e.Err) }

// Unwrap returns the reason.
func (e *OpenError) Unwrap() error { return e.Err }

// Run serves until the context ends, and then returns nil once what was under
// way has ended and the worker ids are given back. The kinds are served beside
// the daemon's own, to the generators whose settings name them.
//
// An error is returned when the settings can't be used or the address can't be
// listened on; an [*OpenError] when the store or a generator can't be opened,
// which for fenced ids wraps what fence.Open returns; and an error when
// something is left behind at the end.
func Run(ctx context.Context, cfg Config, given ...kind.Kind) error {
	d, err := newDaemon(ctx, cfg, given)
	if err != nil {
		return err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.front.serve(stop)
	if err = d.claim(running); err == nil {
		d.announce()
		<-running.Done()
	}
	switch {
	case ctx.Err() != nil:
		err = nil // the end was asked for
	case running.Err() != nil:
		err = context.Cause(running) // the front failed
	}
	return errors.Join(err, d.end(context.WithoutCancel(ctx)))
}

// daemon is what [Run] has opened.
type daemon struct {
	config   Config
	settings config.Config          // complete
	openers  map[string]kind.Opener // by generator
	log      *slog.Logger
	clock    snowfence.Clock
	started  time.Time
	store    store.Store
	service  *service.Service
	front    *front
	minters  map[string]kind.Minter // by generator; claim's until it has ended
}

// newDaemon opens all but the generators.
func newDaemon(ctx context.Context, cfg Config, given []kind.Kind) (*daemon, error) {
	d := &daemon{
		config:  cfg,
		log:     cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		clock:   cmp.Or(cfg.Clock, snowfence.SystemClock()),
		openers: map[string]kind.Opener{},
		minters: map[string]kind.Minter{},
	}
	d.started = d.clock.Wall()
	if err := d.configure(cfg.Settings, given); err != nil {
		return nil, err
	}
	token, err := listen.Token(d.settings)
	if err != nil {
		return nil, err
	}
	for _, w := range listen.Warnings(d.settings) {
		d.log.Warn(w)
	}
	d.service = service.New(service.Config{Settings: d.settings, Token: token, Logger: d.log})
	registry, err := metrics.NewRegistry(cfg.Version)
	if err != nil {
		return nil, err
	}
	if err := registry.Register(metrics.NewCollector(d.service)); err != nil {
		return nil, err
	}
	opened, err := d.openStore(ctx)
	if err != nil {
		return nil, &OpenError{"store", err}
	}
	if d.store, err = metrics.NewTimed(opened, d.clock.Monotonic, registry); err == nil {
		d.front, err = newFront(ctx, d, metrics.Handler(registry))
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return d, nil
}

// configure completes the settings and has each kind read its own.
func (d *daemon) configure(settings config.Config, given []kind.Kind) error {
	known := map[string]kind.Kind{config.KindSnowflake: nil}
	var names []string
	counted := kinds.All(kinds.Config{Clock: d.clock, Process: Process(d.config.Version, d.started), Logger: d.log})
	for _, k := range append(counted, given...) {
		if _, twice := known[k.Name()]; twice {
			return fmt.Errorf("run: two kinds are named %q", k.Name())
		}
		known[k.Name()] = k
		names = append(names, k.Name())
	}
	var err error
	if d.settings, err = settings.Complete(names...); err != nil {
		return err
	}
	var faults []error
	for name, g := range d.settings.Generators {
		if g.Kind == config.KindSnowflake {
			d.openers[name] = d.fenced(g)
			continue
		}
		opener, err := known[g.Kind].Configure(g.Settings)
		var wrong *kind.SettingError
		if errors.As(err, &wrong) {
			err = d.settings.SettingFault(name, wrong.Key, wrong.Limit)
		}
		d.openers[name] = opener
		faults = append(faults, err)
	}
	return config.Join(faults...)
}

// openStore opens the store. With a journal a generator can do without it for a
// while, so the daemon starts though it is away.
func (d *daemon) openStore(ctx context.Context) (store.Store, error) {
	if slices.ContainsFunc(slices.Collect(maps.Values(d.settings.Generators)), func(g config.Generator) bool { return g.Journal }) {
		return engine.Lazy(d.settings.Store, d.introduce)
	}
	s, err := engine.Open(ctx, d.settings.Store)
	if err == nil {
		d.introduce(s)
	}
	return s, err
}

// introduce says what is to be known of the store that was opened.
func (d *daemon) introduce(s store.Store) {
	log := d.log.With("store", engine.Redact(d.settings.Store))
	engine.LogTo(s, log)
	for _, warning := range engine.Warnings(s) {
		log.Warn(warning)
	}
	if engine.Private(d.settings.Store) {
		log.Warn("the store is of this process alone: ids are unique within this process, and forgotten when it ends")
		return
	}
	// Its traits do not change, so an error here shows again where it matters.
	if traits, err := s.Traits(context.Background()); err == nil && traits.OneHost {
		log.Info("the store is of one host: ids are unique among the processes that share it, not beyond")
	}
}

// claim opens every generator, all at a time, since each may have to wait for
// a worker id. The first that fails ends the others.
func (d *daemon) claim(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		name   string
		minter kind.Minter
		err    error
	}
	results := make(chan result)
	for name, g := range d.settings.Generators {
		go func() {
			minter, err := d.openers[name](ctx, kind.Spec{Generator: name, Store: d.store, Namespace: g.Namespace})
			results <- result{name, minter, err}
		}()
	}
	var failed error
	for range d.settings.Generators {
		r := <-results
		err := r.err
		if err == nil {
			d.minters[r.name] = r.minter
			err = d.service.Serve(r.name, r.minter)
		}
		if err != nil && failed == nil { // those after the first were cut short
			failed = &OpenError{"generator " + r.name, err}
			cancel()
		}
	}
	return failed
}

// announce logs each generator that serves, with the worker id that it holds and until when.
func (d *daemon) announce() {
	for _, status := range d.service.Statuses() {
		attributes := []any{"generator", status.Name, "http", d.front.address(), "namespace", status.Namespace}
		if l := status.Lease; l != nil {
			attributes = append(attributes, "worker", l.Worker, "term", l.Term, "until", l.Layout.TimeOf(l.Until).UTC())
		}
		d.log.Info("serving", attributes...)
	}
	if d.config.Serving != nil {
		d.config.Serving()
	}
}

// releaseTime is how long worker ids may take to be given back. One that could
// not be is free again when its window is over.
const releaseTime = 5 * time.Second

// end finishes what is under way, gives the worker ids back and closes the store, in
// this order: each needs the next one.
func (d *daemon) end(ctx context.Context) error {
	d.log.Info("ending", "drain", d.settings.Limits.Drain)
	drained := d.front.drain(ctx, d.settings.Limits.Drain)
	d.service.Stop()
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	closed := make(chan error)
	for name, minter := range d.minters {
		go func() {
			if c, ok := minter.(kind.Closer); ok {
				if err := c.Close(ctx); err != nil {
					closed <- fmt.Errorf("close generator %s: %w", name, err)
					return
				}
			}
			closed <- nil
		}()
	}
	faults := []error{drained}
	for range d.minters {
		faults = append(faults, <-closed)
	}
	err := errors.Join(append(faults, d.store.Close())...)
	switch {
	case err != nil:
	case len(d.minters) > 0:
		d.log.Info("ended, and gave its worker ids back")
	default:
		d.log.Info("ended, without having had a worker id")
	}
	return err
}
