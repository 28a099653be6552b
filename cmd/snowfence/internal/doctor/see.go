// Package doctor finds the troubles of a daemon before its first start. It observes first and judges then: the observations
// of a subject are a struct, and the struct's judge makes findings. So a test of a judgement needs no real trouble. The
// package writes to no store and makes none, and may look beside a daemon that serves.
package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/filestore"
)

// Config is the daemon's settings, and the means to look at its host and its stores.
type Config struct {
	Settings config.Config
	Loading  error // of the settings; then only they are judged, as the rest could be of another store
	Clock    snowfence.Clock
	Open     func(ctx context.Context, url string) (store.Store, error) // such as [OpenReading]
}

// patience is how long a store or a database may take to open and to answer, until registers are listed.
const patience = 15 * time.Second

// Examine looks at all that a daemon of the settings needs.
func Examine(ctx context.Context, c Config) *Report {
	r, wall, begun, all := &Report{Findings: []Finding{}}, c.Clock.Wall(), c.Clock.Monotonic(), c.Settings
	seeSettings(all, cmp.Or(c.Loading, daemon.Check(all)), wall).judge(r)
	if c.Loading != nil {
		return r
	}
	live := daemon.Live(ctx, all)
	for _, front := range frontsOf(all) {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", front[1])
		if err == nil {
			err = l.Close()
		}
		judgePort(r, front[0], front[1], err, live)
	}
	folders := foldersOf(all)
	for _, path := range slices.Sorted(maps.Keys(folders)) {
		seeFolder(path, folders[path], c.Clock).judge(r)
	}
	stores := map[string]*opened{} // by URL
	defer func() {
		for _, o := range stores {
			if o.store != nil {
				_ = o.store.Close() // it was only read
			}
		}
	}()
	for _, name := range all.Names() {
		g := all.Generators[name].InEffect()
		for _, url := range all.StoresOf(g) {
			if !builtin.OnStore(g.Kind) && engine.IsDatabase(url) && len(g.Stores) > 0 {
				judgeDatabase(ctx, r, all.ShowStore(url), url)
			} else if builtin.OnStore(g.Kind) && !engine.Private(url) {
				if stores[url] == nil {
					stores[url] = c.open(ctx, url)
					stores[url].judge(r)
				}
				c.generator(ctx, r, stores[url], g, live)
			}
		}
	}
	r.when(unsynced(), Watch, "clock", "run chrony, ntpd or systemd-timesyncd; for a container, on its host", "the kernel marks the clock as not synchronised")
	judgeClock(r, "its own ticks since the start of this check", c.Clock.Wall().Sub(wall)-(c.Clock.Monotonic()-begun), step)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return strings.Compare(string(b.Severity), string(a.Severity)) }) // wrong, watch, note
	return r
}

// generator looks at a generator's namespace or counters in its store.
func (c Config) generator(ctx context.Context, r *Report, o *opened, g config.Generator, live bool) {
	o.judgeFor(r, g)
	fresh := openstore.Missing(o.err)
	if g.Fenced() && (o.err == nil || fresh) {
		p := pool{Generator: g, mustExist: o.mustExist, live: live, now: c.Clock.Wall(), fresh: fresh}
		if !fresh {
			p.see(ctx, o.store, c.Clock)
		}
		p.judge(r)
	} else if builtin.Counts(g.Kind) && o.err == nil {
		for info, err := range counter.List(ctx, o.store, g.Namespace) {
			judgeCounter(r, info, err, c.Clock.Wall())
		}
	}
}

// open opens a store, and reads from it. A key that is not there is read as any other.
func (c Config) open(ctx context.Context, url string) *opened {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o := &opened{name: c.Settings.ShowStore(url), mustExist: c.Settings.StoreMustExist}
	if o.store, o.err = c.Open(ctx, url); o.err != nil {
		return o
	}
	o.warnings = openstore.Warnings(o.store)
	o.traits, o.err = o.store.Traits(ctx)
	for len(o.reads) < timed && o.err == nil {
		before := c.Clock.Monotonic()
		if _, err := o.store.Get(ctx, stored.NamespaceKey(c.Settings.Namespace)); !errors.Is(err, store.ErrNotFound) {
			o.err = err
		}
		o.reads = append(o.reads, c.Clock.Monotonic()-before)
	}
	if clock, ok := store.ClockOf(o.store); ok && o.err == nil {
		before := c.Clock.Monotonic()
		now, err := clock.Now(ctx)
		o.clock, o.err, o.ahead = true, err, c.Clock.Wall().Sub(now.Add((c.Clock.Monotonic()-before)/2))
	}
	return o
}

// seeSettings looks at the settings' files. The certificate's end is judged here, and by the daemon's warnings otherwise.
func seeSettings(c config.Config, faults error, now time.Time) settings {
	s := settings{Config: c, faults: faults, now: now}
	if pair, err := tls.LoadX509KeyPair(c.TLS.Certificate, c.TLS.Key); err == nil {
		s.ends = pair.Leaf.NotAfter
	}
	c.TLS.Certificate = ""
	s.odd = slices.Concat(c.Warnings(), c.StoreWarnings(), daemon.Warnings(c, now))
	return s
}

// frontsOf returns the names and addresses of the fronts that are on.
func frontsOf(c config.Config) [][2]string {
	all := [][2]string{{"http", c.HTTP}, {"resp", c.RESP}, {"grpc", c.GRPC}, {"thrift", c.Thrift}, {"admin", c.Admin}, {"health", c.Health}}
	return slices.DeleteFunc(all, func(f [2]string) bool { return f[1] == "" })
}

// foldersOf returns the folders that the daemon writes to, and whether it needs them.
func foldersOf(c config.Config) map[string]bool {
	folders := map[string]bool{}
	for _, g := range c.Generators {
		for _, url := range c.StoresOf(g) {
			if file, err := filestore.ParseURL(url); err == nil {
				folders[file.Dir] = true
			} else if g.Journal == config.JournalOn || g.Journal == config.JournalAuto && engine.Loss(url) > 0 && c.Data != "" {
				folders[c.Data] = folders[c.Data] || g.Journal == config.JournalOn
			}
		}
	}
	return folders
}

// A folder's fsync is timed so often, and for so long at most. A store's read is timed as often.
const timed, syncsLimit = 20, 2 * time.Second

// seeFolder writes to a file in the folder, or in the nearest one above that is there. The file's name is removed
// before, so nothing is left even if the process is killed. Windows can do so afterwards alone.
func seeFolder(path string, must bool, clock snowfence.Clock) folder {
	f := folder{path: path, must: must}
	f.system, _ = disk.SystemAt(path) // an unknown file system makes no finding
	for _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path); _, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	f.free = freeAt(path)
	probe, err := os.CreateTemp(path, ".snowfence-doctor-")
	if f.err = err; err != nil {
		return f
	}
	_ = os.Remove(probe.Name())
	defer func() { _ = os.Remove(probe.Name()) }()
	for begun := clock.Monotonic(); f.err == nil && len(f.syncs) < timed && clock.Monotonic()-begun < syncsLimit; {
		before := clock.Monotonic()
		_, err := probe.WriteAt(make([]byte, 4<<10), int64(len(f.syncs)<<12))
		f.err = errors.Join(err, probe.Sync())
		f.syncs = append(f.syncs, clock.Monotonic()-before)
	}
	f.err = errors.Join(f.err, probe.Close())
	return f
}

// errEarlier is returned for a store that would be taken over when it is opened.
var errEarlier = errors.New("the folder is of format 1: the first start of this version takes it over")

// OpenReading opens a store that is there, and changes nothing.
func OpenReading(ctx context.Context, url string) (store.Store, error) {
	if c, err := filestore.ParseURL(url); err == nil {
		if marker, _ := os.ReadFile(filepath.Join(c.Dir, "snowfence.store")); strings.HasPrefix(string(marker), "snowfence file store, format 1\n") {
			return nil, errEarlier
		}
	}
	return openstore.OpenExisting(ctx, url)
}

// judgeDatabase connects to a database that a generator counts in.
func judgeDatabase(ctx context.Context, r *Report, name, url string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := openstore.Connect(url)
	if err == nil {
		err = errors.Join(db.PingContext(ctx), db.Close())
	}
	r.when(err != nil, Wrong, "store", "docs/counters.md has the tables and rights that each kind needs", "%s: %v", name, err)
}

// see reads each register of a namespace.
func (p *pool) see(ctx context.Context, s store.Store, clock snowfence.Clock) {
	r, err := roster.Open(ctx, roster.Config{Store: s, Namespace: p.Namespace, Clock: clock, MaxRollback: p.Policy.MaxRollback})
	if p.fresh, p.err = errors.Is(err, roster.ErrNoNamespace), err; err != nil {
		return
	}
	if p.AnyLayout {
		p.Layout = r.Layout()
	}
	p.now, p.census, p.err = r.Now(), r.Census(), r.Record().Fits(r.Name(), p.Layout, p.Datacenters)
	if pin := p.Fence().Worker; pin != nil && p.err == nil {
		w, err := r.Worker(ctx, *pin)
		p.pinned, p.barred = errors.Join(err, r.Refusal(w)), w.State == roster.Quarantined
	}
	for w, err := range r.Workers(ctx) {
		if p.err = errors.Join(p.err, err); err == nil {
			r.Count(&p.census, w)
		}
	}
}
