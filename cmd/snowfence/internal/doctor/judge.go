package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

// Severity is how bad a [Finding] is.
type Severity string

// The severities.
const (
	Wrong Severity = "wrong" // the daemon does not start, gives no ids, or can't be trusted
	Watch Severity = "watch" // it serves, and an operator should look
	Note  Severity = "note"  // it is good to know
)

// Finding is one trouble, or a note.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy"`
}

// Report is the result of an examination.
type Report struct{ Findings []Finding }

// count returns how many findings have a severity.
func (r *Report) count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Healthy reports whether nothing is wrong, and under strict whether there is nothing to watch either.
func (r *Report) Healthy(strict bool) bool {
	return r.count(Wrong) == 0 && !(strict && r.count(Watch) > 0)
}

// Text returns the findings with their remedies, and the verdict.
func (r *Report) Text(strict bool) string {
	var p page.Page
	for _, x := range r.Findings {
		p.Wrapped(fmt.Sprintf("%-7s", x.Severity+":"), x.Check+": "+x.Text)
		p.Wrapped("       ", x.Remedy)
		p.Line("")
	}
	verdict := "healthy"
	if !r.Healthy(strict) {
		verdict = "not healthy"
	}
	p.Line("%s: %d wrong, %d to watch", verdict, r.count(Wrong), r.count(Watch))
	return p.String()
}

// when adds a finding under a condition, each once.
func (r *Report) when(condition bool, severity Severity, check, remedy, format string, args ...any) {
	f := Finding{severity, check, text.Message(fmt.Errorf(format, args...)), remedy}
	if condition && !slices.Contains(r.Findings, f) {
		r.Findings = append(r.Findings, f)
	}
}

// worse is Wrong if something is bad enough, else Watch.
func worse(enough bool) Severity {
	if enough {
		return Wrong
	}
	return Watch
}

// settings are the settings, and observations of their files.
type settings struct {
	config.Config
	faults error
	odd    []string  // warnings of the daemon
	ends   time.Time // the certificate; zero without one
	now    time.Time
}

// A certificate is to be renewed so long before its end, and is late so long before.
const renew, late = 30 * 24 * time.Hour, 7 * 24 * time.Hour

func (s settings) judge(r *Report) {
	const check, use = "configuration", "remove it, or use it"
	faults := config.Faults(s.faults)
	for _, f := range faults {
		r.when(true, Wrong, check, "set it right there; 'snowfence config print' shows where each setting comes from", "%s", strings.TrimPrefix(f.Error(), "config: "))
	}
	r.when(s.faults != nil && faults == nil, Wrong, check, "see docs/configuration.md", "%v", s.faults)
	for _, w := range s.odd {
		r.when(true, Watch, check, "mend the setting or the file that it names", "%s", w)
	}
	left := s.ends.Sub(s.now)
	r.when(!s.ends.IsZero() && left < renew, worse(left < late), check, "renew it; a daemon that runs reads the new files by itself", "%s: the certificate ends at %s", config.KeyCertificate, s.ends.UTC().Format(time.RFC3339))
	var used []string
	for _, name := range s.Names() {
		g := s.Generators[name]
		used = append(used, g.Stores...)
		r.when(g.Fenced() && engine.Private(s.StoresOf(g)[0]), Watch, check, "set a store that lasts", "generator %s: each process and each restart can issue equal ids, since the store is of one process", name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Stores)) {
		r.when(s.Stores[name] != s.Store && !slices.Contains(used, name), Watch, check, use, "stores.%s is set and unused", name)
	}
	for _, v := range s.Values() {
		r.when(v.Key == "data" && v.Origin != (config.Origin{}) && len(foldersOf(s.Config)) == 0, Watch, check, use, "%s: data is set and unused: with this store nothing is kept there", v.Origin)
	}
	for _, f := range frontsOf(s.Config) {
		host, _, _ := net.SplitHostPort(f[1]) // what can't be parsed is among the faults
		r.when(s.Insecure && f[0] != "health" && !config.Loopback(host), Watch, check, "set tls.certificate, tls.key and token-file, or a loopback address", "%s: every host that reaches %s can take ids", f[0], f[1])
	}
}

// judgePort judges why a front's address can't be listened on, and whether a daemon of these settings is live.
func judgePort(r *Report, front, address string, err error, live bool) {
	taken := errors.Is(err, syscall.EADDRINUSE)
	r.when(taken && live, Note, "ports", "end that daemon before another one starts", "%s: %s is in use, and a daemon of these settings already runs", front, address)
	r.when(taken && !live, Wrong, "ports", "end the program there ('ss -ltnp' names it), or set "+front+" to another address", "%s: %s is in use", front, address)
	r.when(err != nil && !taken, Wrong, "ports", "set "+front+" to an address of this host that the user may listen on", "%s: %v", front, err)
}

// folder is a folder that the daemon writes to.
type folder struct {
	path   string
	must   bool  // the daemon can't do without
	err    error // why nothing can be made or written there
	system disk.System
	free   uint64 // bytes; 0 if that is not known
	syncs  []time.Duration
}

// A disk is slow above slowSync. Little room is worth a warning, and with no room nothing works.
const slowSync, littleRoom, noRoom = 20 * time.Millisecond, 100 << 20, 1 << 20

func (f folder) judge(r *Report) {
	median, worst := spread(f.syncs)
	remedy := "let the daemon's user write there"
	if errors.Is(f.err, syscall.ENOSPC) {
		remedy = "make room"
	}
	r.when(f.err != nil, worse(f.must), "disk", remedy, "%s can't be written: %v", f.path, f.err)
	r.when(f.system.Network, worse(f.must), "disk", "use a local disk, or an engine for many hosts: docs/engines.md", "%s is on %s", f.path, f.system.Refusal())
	r.when(f.system.Forgets != "", Watch, "disk", "use a disk or a volume", "%s: %s", f.path, f.system.Warning())
	r.when(f.free > 0 && f.free < littleRoom, worse(f.must && f.free < noRoom), "disk", "make room", "%s: only %s are free", f.path, text.Bytes(f.free))
	r.when(median > slowSync, Watch, "disk", "use a faster disk: each write to the store waits for fsyncs", "%s: an fsync takes %v, at worst %v", f.path, median, worst)
}

// step is by how much a clock jumps that is set. One that is slewed moves by half a millisecond a second.
const step = 100 * time.Millisecond

// judgeClock judges how far this host's clock is ahead of another.
func judgeClock(r *Report, other string, ahead, most time.Duration) {
	off, ahead := ahead.Abs(), ahead.Round(time.Millisecond)
	r.when(off > most, worse(off > stored.ClockTolerance), "clock", "set the clocks right by NTP", "this host's clock is %v ahead of %s: more than %v", ahead, other, most)
}

// opened is a store, and observations of it.
type opened struct {
	store     store.Store // nil if it can't be opened
	name      string
	mustExist bool
	err       error // of opening it, or of a read
	traits    store.Traits
	warnings  []string
	reads     []time.Duration
	clock     bool          // it has one
	ahead     time.Duration // this host's clock, of the store's
}

// slowRead is the longest read that counters take as fast.
const slowRead = 2 * time.Millisecond

func (o *opened) judge(r *Report) {
	const engines = "docs/engines.md has the settings and rights that each engine needs"
	median, worst := spread(o.reads)
	missing, earlier := openstore.Missing(o.err), errors.Is(o.err, errEarlier)
	r.when(earlier, Watch, "store", "restart all processes of this host together", "%s: %v", o.name, o.err)
	r.when(missing && o.mustExist, Wrong, "store", "see docs/restoring.md", "%s: nothing is there, and store-must-exist is set", o.name)
	r.when(o.err != nil && !missing && !earlier, Wrong, "store", "see that the server runs and can be reached; "+engines, "%s: %s", o.name, strings.TrimPrefix(fmt.Sprint(o.err), o.name+": "))
	for _, w := range o.warnings {
		r.when(true, Watch, "store", engines, "%s: %s", o.name, w)
	}
	r.when(o.err == nil, Note, "store", "nothing: "+engines, "%s; a read takes %v, at worst %v; writing was not tried", o.traits, median, worst)
}

// judgeFor judges whether the store will do for a generator.
func (o *opened) judgeFor(r *Report, g config.Generator) {
	median, worst := spread(o.reads)
	if g.Fenced() {
		short := lease.Outlasts(g.Window, o.traits.Loss)
		r.when(short != nil, Wrong, "store", "set a longer window", "%s: %v", o.name, short)
		r.when(worst > g.Window/6, Wrong, "store", "set a longer window, or bring the store nearer", "%s: a read took %v: a request may take a sixth of the window, %v", o.name, worst, g.Window)
	}
	r.when(!g.Fenced() && median > slowRead, Watch, "store", "bring the store nearer, or count in segments", "%s: a read takes %v, at worst %v, and each reservation of numbers takes longer", o.name, median, worst)
	if o.clock {
		judgeClock(r, "the clock of "+o.name, o.ahead, cmp.Or(g.Policy.MaxRollback, snowfence.DefaultMaxRollback))
	}
}

// pool is a generator's namespace, and observations of it. The layout is the namespace's if the settings name none.
type pool struct {
	config.Generator
	mustExist, live, fresh bool // a daemon of the settings is live; there is no namespace yet
	now                    time.Time
	err                    error
	census                 roster.Census
	pinned                 error // why a pinned worker id can't be claimed
	barred                 bool  // it is quarantined
}

func (p pool) judge(r *Report) {
	const check, wayOn = "namespace", "docs/running-out.md has the way on"
	c, name, left, ends := p.census, p.Namespace, p.Layout.Horizon().Sub(p.now), p.Layout.Horizon().UTC().Format(time.DateOnly)
	r.when(p.now.Before(p.Layout.Epoch), Wrong, check, "set the clock right, or another layout", "%s: the epoch of layout %s lies ahead", name, p.Layout)
	r.when(left < counter.NearEnd, worse(left <= 0), check, wayOn, "%s: the time of layout %s ends on %s", name, p.Layout, ends)
	r.when(p.fresh && p.mustExist, Wrong, check, "see docs/restoring.md", "%s is not there, and store-must-exist is set", name)
	r.when(p.err != nil && !p.fresh, Wrong, check, "compare the settings with 'snowfence namespace show', or set another namespace", "%s: %v", name, p.err)
	if p.fresh || p.err != nil {
		return
	}
	free, alone := c.Capacity-c.Taken(), !p.live && !p.Standby && c.Counts[roster.Resting] == 0 // or a holder is ours, or leaves
	r.when(p.barred, Wrong, check, "ask why; then 'snowfence workers quarantine N --clear', or pin another worker id", "%s: %v", name, p.pinned)
	r.when(p.pinned != nil && !p.barred, worse(alone), check, "end its holder, or pin another worker id", "%s: %v", name, p.pinned)
	r.when(free*10 < c.Capacity, worse(free == 0 && alone), check, "'snowfence workers list' shows the holders; "+wayOn, "%s: of %d worker ids %d are free", name, c.Capacity, free)
	r.when(c.Silent > 0, Watch, check, "look for processes that crashed, hang or are cut off: 'snowfence workers list' marks them silent", "%s: %s missed the time to extend", name, text.Count(c.Silent, "holder"))
	if old, young := c.Oldest, c.Youngest; old != nil {
		apart := old.Age() - young.Age() - old.Register.Window/3 // so long ago an extension may be
		r.when(apart > p.Policy.MaxRollback, Watch, "clock", "set the clocks of both hosts right by NTP", "%s: the clocks of %s and of %s are at least %v apart", name, old.Register.Process, young.Register.Process, apart.Round(time.Millisecond))
	}
}

// judgeCounter judges how near a counter is to its limit, by the rules of docs/running-out.md.
func judgeCounter(r *Report, i counter.Info, err error, now time.Time) {
	if r.when(err != nil, Wrong, "counters", "docs/restoring.md has the way to mend a store", "%v", err); err != nil || len(i.Lanes) == 0 {
		return
	}
	next, lived := i.Lanes[len(i.Lanes)-1].Next, now.Sub(i.Created)
	used, left := float64(next-i.Start)/float64(i.Increment), max(float64(i.Limit-next)/float64(i.Increment)+1, 0)
	soon := i.Kind != stored.Daily && lived > 24*time.Hour && left/max(used, 1)*float64(lived) < float64(counter.NearEnd)
	r.when(left*9 <= used || soon, worse(left < 1), "counters", "docs/running-out.md has the way on", "counter %s: %.0f numbers are left up to its limit, %d", i.Name, left, i.Limit)
}

// spread returns the median and the worst of some times, or zeros.
func spread(times []time.Duration) (median, worst time.Duration) {
	if len(times) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2].Round(time.Microsecond), sorted[len(sorted)-1].Round(time.Microsecond)
}
