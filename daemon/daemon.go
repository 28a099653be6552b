package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/listen"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/kubernetesstore"
)

// Settings are the content of a configuration file; see [DefaultSettings] and [Load].
type Settings = config.Config

// Generator is one source of ids in the settings.
type Generator = config.Generator

// Sources are the file, the environment and the flags that [Load] reads.
type Sources = config.Sources

// DefaultSettings returns the settings of an empty configuration; a Data directory or a Store is missing.
func DefaultSettings() Settings { return config.Default() }

// Load reads settings from a file, the environment and flags. Sources.Kinds names the kinds that
// are given to [Run].
func Load(sources Sources) (Settings, error) {
	sources.Kinds, sources.CheckURL = append(builtin.Names(), sources.Kinds...), openstore.Check
	return config.Load(sources)
}

// Config holds the settings, the clock, the log and the callbacks of a daemon.
type Config struct {
	// Settings name the fronts, the stores and the generators.
	Settings Settings

	// Clock gives the time. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Logger gets the log. Nil means that nothing is logged.
	Logger *slog.Logger

	// File is the configuration file, for commands on the page. Empty means the file that SNOWFENCE_CONFIG names, if any.
	File string

	// Version is the program's version, for metrics and registers.
	Version string

	// Reload has the daemon read the files of tokens and of TLS at once. Nil means that it looks by itself alone: at the
	// tokens each second, and at TLS with each connection.
	Reload <-chan struct{}

	// Listeners are sockets that listen already, by the name of the front that uses one in place of its address: http, resp,
	// grpc, admin, health or thrift. The rules for an address hold for that of the socket.
	Listeners map[string]net.Listener

	// Listening, if it is set, is called with the name and the URL of each front that accepts
	// connections, before worker ids are claimed.
	Listening func(front, url string)

	// Page, if it is set, is called with the URL of the page, after Listening.
	Page func(url string)

	// Serving, if it is set, is called once, when every generator can mint.
	Serving func()

	// Stands, if it is set, is called with the state of the daemon: when a generator begins or ends to
	// give ids or to stand by, when the daemon begins to end, and each StandsEvery, until it drains.
	// One goroutine calls it, after it has looked at every generator, so a daemon that hangs stops
	// calling it. It must return soon.
	Stands func(Stand)

	// StandsEvery is how often Stands is called though nothing has changed. Zero means 10 s.
	StandsEvery time.Duration
}

// OpenError is returned by [Run] when the store or a generator can't be opened.
type OpenError struct {
	What string // "store", or "generator" and its name
	Err  error
}

func (e *OpenError) Error() string { return fmt.Sprintf("open %s: %v", e.What, e.Err) }

// Unwrap returns the reason.
func (e *OpenError) Unwrap() error { return e.Err }

// Run serves until the context ends, and for the settings' linger after that. It finishes the requests
// under way, gives the worker ids back and returns nil. The kinds are served beside the daemon's own,
// to the generators whose settings name them.
//
// Run retries a generator that can't be opened, and serves the others. So a store that is away
// delays the ids, and the fronts report it meanwhile.
//
// An error is returned when the settings can't be used or the address can't be listened on; an
// [*OpenError] when the folder of a store can't be used, or when every generator is refused for a
// lasting reason, which for fenced ids wraps the error of fence.Open; and an error when something is
// left behind at the end.
func Run(ctx context.Context, cfg Config, given ...kind.Kind) error {
	d, err := newDaemon(ctx, cfg, given)
	if err != nil {
		return err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	d.serve(stop)
	go d.reload(lasting)
	d.viewing.Go(func() { d.view.Run(lasting) })
	d.viewing.Go(func() { d.watch(lasting) })
	d.viewing.Go(func() { d.label(lasting) })
	d.open(running, stop)
	<-running.Done()
	if ctx.Err() == nil { // the end was not asked for
		err = context.Cause(running) // a front failed, or no generator can be opened
	}
	stop(nil)
	if d.service.Leave(); err == nil {
		d.linger(lasting)
	}
	end()
	return errors.Join(err, d.end(context.WithoutCancel(ctx)))
}

// daemon is an opened daemon, which [Run] drives.
type daemon struct {
	config   Config
	settings config.Config          // complete
	openers  map[string]kind.Opener // by generator
	log      *slog.Logger
	clock    snowfence.Clock
	started  time.Time
	stores   map[string]store.Store // by their name in the settings; "" is the settings' Store
	service  *service.Service
	tokens   *token.Ring    // nil if clients need no token
	memory   *budget.Budget // of requests and answers
	view     *view.View
	metrics  http.Handler
	page     *page.Page
	pod      *kubernetesstore.Pod // whose label is kept, or nil

	certificates *listen.Certificates // nil without TLS

	fronts []serving

	opening sync.WaitGroup // the goroutines that open generators
	viewing sync.WaitGroup // the goroutines of the view and of watch
	changed chan struct{}  // a generator may stand otherwise than watch has seen; room for one

	mu      sync.Mutex             // guards minters and refused
	minters map[string]kind.Minter // by generator
	refused map[string]error       // lasting reasons, by generator
}

// newDaemon opens all but the generators.
func newDaemon(ctx context.Context, cfg Config, given []kind.Kind) (*daemon, error) {
	events := new(view.Events)
	d := &daemon{
		config:  cfg,
		log:     slog.New(events.Handler(cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)).Handler())),
		clock:   cmp.Or(cfg.Clock, snowfence.SystemClock()),
		openers: map[string]kind.Opener{},
		stores:  map[string]store.Store{},
		minters: map[string]kind.Minter{},
		refused: map[string]error{},
		changed: make(chan struct{}, 1),
	}
	d.started = d.clock.Wall()
	if err := d.adopt(&cfg.Settings); err != nil {
		return nil, err
	}
	if err := d.configure(cfg.Settings, given); err != nil {
		return nil, err
	}
	var err error
	if d.tokens, err = listen.Tokens(d.settings); err != nil {
		return nil, err
	}
	if d.certificates, err = listen.NewCertificates(d.settings, d.log); err != nil {
		return nil, err
	}
	if d.pod, err = openPod(d.settings); err != nil {
		return nil, err
	}
	for _, w := range append(listen.Warnings(d.settings, d.clock.Wall()), d.settings.StoreWarnings()...) {
		d.log.Warn(w)
	}
	d.memory = budget.New(d.settings.Limits.Memory / 4)
	d.service = service.New(service.Config{
		Settings: d.settings, Formats: builtin.Formats(), Tokens: d.tokens, Memory: d.memory, Clock: d.clock, Logger: d.log, Changed: d.wake,
	})
	registry, err := metrics.NewRegistry(cfg.Version, metrics.NewCollector(d.service), metrics.NewClock(d.clock.Wall))
	if err != nil {
		return nil, err
	}
	watch, err := metrics.NewStopwatch(d.clock.Monotonic, registry)
	if err != nil {
		return nil, err
	}
	if d.certificates != nil {
		if err := registry.Register(metrics.NewCertificate(d.certificates.Ends)); err != nil {
			return nil, err
		}
	}
	if err = d.openStores(ctx, watch); err == nil {
		d.view = view.New(view.Config{
			Service: d.service, Generators: d.settings.Generators, Pools: d.namespaces(), Process: Process(cfg.Version, d.started), Clock: d.clock,
			Requests: watch.Sums, Events: events, Flags: d.flags(), TLS: d.certificates.Trouble,
		})
		err = registry.Register(metrics.NewPools(d.view.Censuses))
	}
	if err == nil {
		d.metrics = metrics.Handler(registry)
		d.page, err = d.newPage()
	}
	if err == nil {
		err = d.openFronts(ctx, func(f *metrics.Front) error { return registry.Register(f) })
	}
	if err != nil {
		return nil, errors.Join(err, d.closeFronts(), d.closeStores())
	}
	return d, nil
}

// Check returns the errors that [Run] would return for the settings: errors of the stores' URLs, of the
// files of tokens and TLS, and of each generator. The settings are complete. It opens neither stores
// nor ports.
func Check(settings Settings, given ...kind.Kind) error {
	d := &daemon{settings: settings, clock: snowfence.SystemClock(), openers: map[string]kind.Opener{}}
	_, err := openPod(settings)
	return config.Join(settings.CheckStores(openstore.CheckFiles), listen.Check(settings), d.configure(settings, given), err)
}

// Warnings returns warnings about the files of tokens and TLS.
func Warnings(settings Settings, now time.Time) []string { return listen.Warnings(settings, now) }

// configure completes the settings and has each kind read its own.
func (d *daemon) configure(settings config.Config, given []kind.Kind) error {
	known := map[string]kind.Kind{}
	names := builtin.Names()
	for _, k := range given {
		if slices.Contains(names, k.Name()) {
			return fmt.Errorf("run: two kinds are named %q", k.Name())
		}
		known[k.Name()] = k
		names = append(names, k.Name())
	}
	var err error
	d.settings, err = settings.Complete(names...)
	wrong := config.Faults(err)
	own := builtin.Config{
		Settings: d.settings, Clock: d.clock, Process: Process(d.config.Version, d.started), Logger: d.log, ObjectIDs: new(builtin.ObjectIDs),
		OnStanding: func(name string, s fence.Standing) { d.service.StandBy(name, s == fence.StandsBy) },
	}
	faults := []error{err}
	if err == nil {
		faults = append(faults, d.settings.CheckStores(openstore.Check), d.settings.CheckWindows())
	}
	for name, g := range d.settings.Generators {
		if slices.ContainsFunc(wrong, func(f *config.Error) bool { return f.Of(name) }) {
			continue // its kind can only judge its settings when the others are right
		}
		var err error
		if k := known[g.Kind]; k != nil {
			d.openers[name], err = k.Configure(g.Settings)
			err = builtin.Fault(d.settings, name, err)
		} else {
			d.openers[name], err = own.Configure(name)
		}
		faults = append(faults, err)
	}
	return config.Join(faults...)
}

// wake has watch look at the generators.
func (d *daemon) wake() {
	select {
	case d.changed <- struct{}{}:
	default: // it will
	}
}

// releaseTime is how long it may take to give worker ids back. A worker id that could not be given back
// is free again when its window is over.
const releaseTime = 5 * time.Second

// waitSaid is how long the end may wait for generators before the log shows it.
const waitSaid = time.Second

// linger goes on serving for a while, and the fronts answer that it is not ready. So load balancers
// turn away before the daemon refuses a connection.
func (d *daemon) linger(ctx context.Context) {
	if pause := d.settings.Limits.Linger; pause > 0 {
		d.log.Info("ending: goes on serving for a while, and is not ready any more", "for", pause)
		d.sleep(ctx, pause)
	}
}

// end finishes the requests under way, gives the worker ids back and closes the store, in
// this order: each needs the next one.
func (d *daemon) end(ctx context.Context) error {
	d.log.Info("ending", "drain", d.settings.Limits.Drain)
	drained := d.drain(ctx)
	d.service.Stop()
	d.opening.Wait()
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	faults := append([]error{drained}, d.closeMinters(ctx)...)
	d.viewing.Wait() // it reads the stores
	err := errors.Join(append(faults, d.closeStores())...)
	if err == nil {
		d.log.Info("ended")
	}
	return err
}

// closeMinters gives back the generators' worker ids and unused numbers. After waitSaid it logs the
// generators that it waits for.
func (d *daemon) closeMinters(ctx context.Context) (faults []error) {
	type result struct {
		name string
		err  error
	}
	closed, open := make(chan result), slices.Sorted(maps.Keys(d.minters))
	for name, minter := range d.minters {
		go func() { closed <- result{name, d.close(ctx, name, minter)} }()
	}
	slow, stop := d.clock.After(waitSaid)
	defer stop()
	for len(open) > 0 {
		select {
		case r := <-closed:
			open = slices.DeleteFunc(open, func(name string) bool { return name == r.name })
			faults = append(faults, r.err)
		case <-slow:
			slow = nil // it is logged once
			d.log.Info("waits for the store, so that worker ids and unused numbers are given back", "generators", open, "for", releaseTime)
		}
	}
	return faults
}

// close gives back a generator's worker id or unused numbers. It returns nil when the store is away.
// Then the worker id stays claimed until its window ends, and a counter skips the numbers that it could
// not give back.
func (d *daemon) close(ctx context.Context, name string, minter kind.Minter) error {
	c, ok := minter.(kind.Closer)
	if !ok {
		return nil
	}
	err := c.Close(ctx)
	if _, ok := errors.AsType[*fence.NotReleasedError](err); ok {
		return nil // the holder has logged it
	}
	if errors.Is(err, counter.ErrUnavailable) {
		d.log.Warn("did not give unused numbers back: the counter skips them", "generator", name, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("close generator %s: %w", name, err)
	}
	return nil
}
