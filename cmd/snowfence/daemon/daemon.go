package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/kinds"
	"snowfence.example/snowfence/cmd/snowfence/internal/metrics"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/cmd/snowfence/internal/token"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/listen"
	"snowfence.example/snowfence/fence"
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

	// Listening is called with the name and the URL of each front that accepts connections, before
	// worker ids are claimed. Nil means no call.
	Listening func(front, url string)

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
	d.serve(stop)
	go d.reload(running)
	if err = d.claim(running); err == nil {
		d.announce()
		d.watch(running)
	}
	switch {
	case ctx.Err() != nil:
		err = nil // the end was asked for
	case running.Err() != nil:
		err = context.Cause(running) // a front failed
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
	stores   map[string]store.Store // by their name in the settings; "" is the settings' Store
	service  *service.Service
	tokens   *token.Ring // nil if none is asked for
	fronts   []serving
	minters  map[string]kind.Minter // by generator; claim's until it has ended
}

// newDaemon opens all but the generators.
func newDaemon(ctx context.Context, cfg Config, given []kind.Kind) (*daemon, error) {
	d := &daemon{
		config:  cfg,
		log:     cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		clock:   cmp.Or(cfg.Clock, snowfence.SystemClock()),
		openers: map[string]kind.Opener{},
		stores:  map[string]store.Store{},
		minters: map[string]kind.Minter{},
	}
	d.started = d.clock.Wall()
	if err := d.configure(cfg.Settings, given); err != nil {
		return nil, err
	}
	var err error
	if d.tokens, err = listen.Tokens(d.settings); err != nil {
		return nil, err
	}
	for _, w := range listen.Warnings(d.settings) {
		d.log.Warn(w)
	}
	d.service = service.New(service.Config{Settings: d.settings, Formats: kinds.Formats(), Tokens: d.tokens, Clock: d.clock, Logger: d.log})
	registry, err := metrics.NewRegistry(cfg.Version)
	if err != nil {
		return nil, err
	}
	if err := registry.Register(metrics.NewCollector(d.service)); err != nil {
		return nil, err
	}
	watch, err := metrics.NewStopwatch(d.clock.Monotonic, registry)
	if err != nil {
		return nil, err
	}
	if err = d.openStores(ctx, watch); err == nil {
		p := parts{service: d.service, settings: d.settings, log: d.log, metrics: metrics.Handler(registry), version: cfg.Version, clock: d.clock}
		err = d.openFronts(ctx, p, func(f *metrics.Front) error { return registry.Register(f) })
	}
	if err != nil {
		return nil, errors.Join(err, d.closeFronts(), d.closeStores())
	}
	return d, nil
}

// Check returns what [Run] would have against the settings, which are complete. It opens nothing.
func Check(settings Settings, given ...kind.Kind) error {
	d := &daemon{settings: settings, clock: snowfence.SystemClock(), openers: map[string]kind.Opener{}}
	return d.configure(settings, given)
}

// configure completes the settings and has each kind read its own.
func (d *daemon) configure(settings config.Config, given []kind.Kind) error {
	known := map[string]kind.Kind{config.KindSnowflake: nil, config.KindWide: nil}
	names := kinds.Names()
	for _, k := range given {
		if _, twice := known[k.Name()]; twice || slices.Contains(names, k.Name()) {
			return fmt.Errorf("run: two kinds are named %q", k.Name())
		}
		known[k.Name()] = k
		names = append(names, k.Name())
	}
	var err error
	if d.settings, err = settings.Complete(names...); err != nil {
		return err
	}
	own := kinds.Config{
		Settings: d.settings, Clock: d.clock, Process: Process(d.config.Version, d.started), Logger: d.log, ObjectIDs: new(kinds.ObjectIDs),
	}
	var faults []error
	for name, g := range d.settings.Generators {
		var err error
		switch k := known[g.Kind]; {
		case g.Fenced():
			d.openers[name] = d.fenced(g)
		case k != nil:
			d.openers[name], err = k.Configure(g.Settings)
			err = kinds.Fault(d.settings, name, err)
		default:
			d.openers[name], err = own.Configure(name)
		}
		faults = append(faults, err)
	}
	return config.Join(faults...)
}

// openStores opens the stores that generators use. With a journal a generator can do without its
// store for a while, so the daemon starts though that is away.
func (d *daemon) openStores(ctx context.Context, watch *metrics.Stopwatch) error {
	lazy := map[string]bool{} // by name
	for _, g := range d.settings.Generators {
		if kinds.OnStore(g.Kind) {
			lazy[storeName(g)] = lazy[storeName(g)] || g.Journal == config.JournalOn
		}
	}
	for name, lazy := range lazy {
		url, what := d.settings.Stores[name], "store "+name
		if name == "" {
			url, what = d.settings.Store, "store"
		}
		s, err := d.openStore(ctx, url, lazy)
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

func (d *daemon) openStore(ctx context.Context, url string, lazy bool) (store.Store, error) {
	if lazy {
		return engine.Lazy(url, func(s store.Store) { d.introduce(url, s) })
	}
	s, err := engine.Open(ctx, url)
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

// introduce says what is to be known of a store that was opened.
func (d *daemon) introduce(url string, s store.Store) {
	log := d.log.With("store", engine.Redact(url))
	engine.LogTo(s, log)
	for _, warning := range engine.Warnings(s) {
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
			minter, err := d.openers[name](ctx, kind.Spec{Generator: name, Store: d.stores[storeName(g)], Namespace: g.Namespace})
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
		attributes := []any{"generator", status.Name, "kind", status.Kind, "namespace", status.Namespace}
		for _, s := range d.fronts {
			attributes = append(attributes, s.name, s.listener.Addr().String())
		}
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
	drained := d.drain(ctx)
	d.service.Stop()
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	closed := make(chan error)
	for name, minter := range d.minters {
		go func() { closed <- d.close(ctx, name, minter) }()
	}
	faults := []error{drained}
	for range d.minters {
		faults = append(faults, <-closed)
	}
	err := errors.Join(append(faults, d.closeStores())...)
	if err == nil {
		d.log.Info("ended")
	}
	return err
}

// close gives back what a generator holds. A store that is away is no fault of the daemon's: the
// worker id rests until its window ends.
func (d *daemon) close(ctx context.Context, name string, minter kind.Minter) error {
	c, ok := minter.(kind.Closer)
	if !ok {
		return nil
	}
	err := c.Close(ctx)
	var rests *fence.NotReleasedError
	if errors.As(err, &rests) {
		d.log.Warn("did not give the worker id back, which can't be claimed until then", "generator", name,
			"worker", rests.Worker, "until", rests.Until.UTC(), "reason", rests.Reason)
		return nil
	}
	if err != nil {
		return fmt.Errorf("close generator %s: %w", name, err)
	}
	return nil
}
