package doctor

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// now is when all of these tests are.
func now() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }

// compare holds the findings against lines such as "wrong disk: can't be written", in any order.
func compare(t *testing.T, r *Report, want ...string) {
	t.Helper()
	left := slices.Clone(want)
	for _, f := range r.Findings {
		if f.Severity == Note && f.Check == "store" { // the figures of a read
			continue
		}
		line := string(f.Severity) + " " + f.Check + ": " + f.Text
		if f.Remedy == "" {
			t.Errorf("%s: no remedy", line)
		}
		at := slices.IndexFunc(left, func(w string) bool {
			start, part, _ := strings.Cut(w, ": ")
			return strings.HasPrefix(line, start+": ") && strings.Contains(line, part)
		})
		if at < 0 {
			t.Errorf("not expected: %s", line)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		t.Errorf("not found: %q", left)
	}
}

// judgement is the judge of an observation, and the findings that it must make.
type judgement struct {
	judge func(*Report)
	want  []string
}

// judged makes the judgements of a table.
func judged(t *testing.T, table map[string]judgement) {
	t.Helper()
	for name, x := range table {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			x.judge(r)
			compare(t, r, x.want...)
		})
	}
}

func TestSettingsAreJudged(t *testing.T) {
	fault := &config.Error{Key: "htpp", Reason: "is no setting"}
	file := map[string]config.Generator{"a": {Kind: config.KindSnowflake, Stores: []string{"one"}}}
	stores := map[string]string{"one": "file:/one", "two": "file:/two"}
	judged(t, map[string]judgement{
		"nothing odd":           {settings{}.judge, nil},
		"a fault":               {settings{faults: fault}.judge, []string{"wrong configuration: htpp: is no setting"}},
		"another error":         {settings{faults: errors.New("two kinds")}.judge, []string{"wrong configuration: two kinds"}},
		"a warning":             {settings{odd: []string{"token-file: others have access"}}.judge, []string{"watch configuration: others have access"}},
		"certificate of a year": {settings{now: now(), ends: now().AddDate(1, 0, 0)}.judge, nil},
		"certificate of 29 days": {settings{now: now(), ends: now().AddDate(0, 0, 29)}.judge,
			[]string{"watch configuration: the certificate ends at 2026-06-30"}},
		"certificate of a day": {settings{now: now(), ends: now().AddDate(0, 0, 1)}.judge, []string{"wrong configuration: ends at 2026-06-02"}},
		"an unused store": {settings{Config: config.Config{Stores: stores, Generators: file}}.judge,
			[]string{"watch configuration: stores.two is set and unused"}},
		"memory": {settings{Config: config.Config{Store: "mem://", Generators: map[string]config.Generator{"a": {Kind: config.KindSnowflake}}}}.judge,
			[]string{"watch configuration: generator a: each process"}},
		"open to all": {settings{Config: config.Config{HTTP: "0.0.0.0:1", Health: "0.0.0.0:2", RESP: "127.0.0.1:3", Insecure: true}}.judge,
			[]string{"watch configuration: http: every host"}},
	})
}

func TestPortsAreJudged(t *testing.T) {
	taken := &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE}
	of := func(err error, live bool) func(*Report) {
		return func(r *Report) { judgePort(r, "resp", "127.0.0.1:1", err, live) }
	}
	judged(t, map[string]judgement{
		"free":             {of(nil, false), nil},
		"free beside ours": {of(nil, true), nil},
		"taken":            {of(taken, false), []string{"wrong ports: resp: 127.0.0.1:1 is in use"}},
		"taken by our own": {of(taken, true), []string{"note ports: resp: 127.0.0.1:1 is in use, and a daemon"}},
		"not allowed":      {of(&os.SyscallError{Syscall: "bind", Err: syscall.EACCES}, false), []string{"wrong ports: permission denied"}},
		"not of this host": {of(&os.SyscallError{Syscall: "bind", Err: syscall.EADDRNOTAVAIL}, true), []string{"wrong ports: resp: bind"}},
	})
}

func TestFoldersAreJudged(t *testing.T) {
	const ms = time.Millisecond
	quick, slow := []time.Duration{ms, 300 * ms, ms}, []time.Duration{30 * ms, 30 * ms, ms}
	judged(t, map[string]judgement{
		"well":               {folder{must: true, free: 1 << 30, syncs: quick}.judge, nil},
		"nothing is known":   {folder{must: true}.judge, nil},
		"not writable":       {folder{must: true, err: fs.ErrPermission}.judge, []string{"wrong disk: can't be written: permission"}},
		"not writable, auto": {folder{err: fs.ErrPermission}.judge, []string{"watch disk: can't be written"}},
		"network":            {folder{must: true, system: disk.System{Name: "NFS", Network: true}}.judge, []string{"wrong disk: is on NFS"}},
		"memory":             {folder{must: true, system: disk.System{Name: "tmpfs", Forgets: "at a reboot"}}.judge, []string{"watch disk: forgets everything at a reboot"}},
		"slow":               {folder{must: true, syncs: slow}.judge, []string{"watch disk: an fsync takes 30ms, at worst 30ms"}},
		"little room":        {folder{must: true, free: 50 << 20}.judge, []string{"watch disk: only 50.0 MiB"}},
		"no room":            {folder{must: true, free: 4096}.judge, []string{"wrong disk: only 4.0 KiB"}},
	})
}

func TestClocksAreJudged(t *testing.T) {
	off := func(ahead time.Duration) func(*Report) {
		return func(r *Report) { judgeClock(r, "x", ahead, time.Second) }
	}
	judged(t, map[string]judgement{
		"clock is right":       {off(-time.Second), nil},
		"clock is two off":     {off(-2 * time.Second), []string{"watch clock: -2s ahead of x"}},
		"clock is an hour off": {off(time.Hour), []string{"wrong clock: 1h0m0s ahead of x"}},
	})
}

func TestStoresAreJudged(t *testing.T) {
	slow := []time.Duration{3 * time.Millisecond, 11 * time.Second, 3 * time.Millisecond}
	fenced := config.Generator{Kind: config.KindSnowflake, Window: time.Minute}
	of := func(o opened, g config.Generator) func(*Report) {
		return func(r *Report) {
			o.judge(r)
			o.judgeFor(r, g)
		}
	}
	judged(t, map[string]judgement{
		"well":                 {of(opened{reads: slow[:1]}, fenced), nil},
		"new":                  {of(opened{err: store.ErrNoStore}, fenced), nil},
		"gone":                 {of(opened{err: store.ErrNoStore, mustExist: true}, fenced), []string{"wrong store: nothing is there"}},
		"away":                 {of(opened{err: errors.New("refused"), mustExist: true}, fenced), []string{"wrong store: refused"}},
		"of format 1":          {of(opened{err: errEarlier}, fenced), []string{"watch store: format 1"}},
		"slow for its window":  {of(opened{reads: slow}, fenced), []string{"wrong store: a read took 11s"}},
		"slow for counters":    {of(opened{reads: slow}, config.Generator{Kind: "ticket"}), []string{"watch store: a read takes 3ms, at worst 11s"}},
		"an engine's warning":  {of(opened{warnings: []string{"the loss is the default"}}, fenced), []string{"watch store: the loss is the default"}},
		"a window too short":   {of(opened{traits: store.Traits{Loss: 30 * time.Second}}, fenced), []string{"wrong store: window"}},
		"a clock that is off":  {of(opened{clock: true, ahead: time.Hour, name: "redis://a"}, fenced), []string{"wrong clock: 1h0m0s ahead of the clock of redis://a"}},
		"a clock that is well": {of(opened{clock: true, ahead: time.Second}, fenced), nil},
	})
}

func TestNamespacesAreJudged(t *testing.T) {
	written := func(age time.Duration) *roster.Worker {
		return &roster.Worker{Read: now(), Register: stored.Register{Clock: now().Add(-age), Window: time.Minute}}
	}
	census := func(free, held, resting int64) roster.Census {
		return roster.Census{Capacity: free + held + resting, Counts: map[roster.State]int64{roster.Free: free, roster.Held: held, roster.Resting: resting}}
	}
	silent, apart, near := census(8, 2, 0), census(8, 2, 0), census(8, 2, 0)
	silent.Silent = 1
	apart.Youngest, apart.Oldest = written(-time.Minute), written(10*time.Second)
	near.Youngest, near.Oldest = written(0), written(20*time.Second)
	of := func(p pool, layout string) func(*Report) {
		var err error
		if p.Layout, err = snowfence.ParseLayout(layout); err != nil {
			t.Fatal(err)
		}
		p.now, p.Namespace, p.Policy.MaxRollback = now(), "ids", 5*time.Second
		return p.judge
	}
	const ages = "ms41-worker10-seq12@2026-01-01"
	judged(t, map[string]judgement{
		"well":                    {of(pool{census: census(9, 1, 0)}, ages), nil},
		"new":                     {of(pool{fresh: true}, ages), nil},
		"gone":                    {of(pool{fresh: true, mustExist: true}, ages), []string{"wrong namespace: ids is not there"}},
		"of another layout":       {of(pool{err: errors.New("another layout")}, ages), []string{"wrong namespace: another layout"}},
		"nearly full":             {of(pool{census: census(1, 19, 0)}, ages), []string{"watch namespace: of 20 worker ids 1 are free"}},
		"full":                    {of(pool{census: census(0, 2, 0)}, ages), []string{"wrong namespace: of 2 worker ids 0 are free"}},
		"full, one rests":         {of(pool{census: census(0, 1, 1)}, ages), []string{"watch namespace: of 2 worker ids 0 are free"}},
		"full, a daemon is live":  {of(pool{census: census(0, 2, 0), live: true}, ages), []string{"watch namespace: of 2 worker ids 0 are free"}},
		"full, as in standby":     {of(pool{census: census(0, 1, 0), Generator: config.Generator{Standby: true}}, ages), []string{"watch namespace: of 1 worker ids 0 are free"}},
		"a pinned worker is held": {of(pool{census: census(9, 1, 0), pinned: errors.New("worker 3: held")}, ages), []string{"wrong namespace: worker 3: held"}},
		"a pinned one is barred":  {of(pool{census: census(9, 1, 0), pinned: errors.New("worker 3: quarantined"), barred: true, live: true}, ages), []string{"wrong namespace: worker 3: quarantined"}},
		"a silent holder":         {of(pool{census: silent}, ages), []string{"watch namespace: 1 holder missed the time"}},
		"clocks are apart":        {of(pool{census: apart}, ages), []string{"watch clock: are at least 50s apart"}},
		"clocks are near":         {of(pool{census: near}, ages), nil},
		"ends in a year":          {of(pool{census: census(9, 1, 0)}, "s28-worker10-seq12@2018-01-01"), []string{"watch namespace: ends on 2026-07-04"}},
		"has ended":               {of(pool{fresh: true}, "s28-worker10-seq12@2016-01-01"), []string{"wrong namespace: ends on 2024-07-03"}},
		"has not begun":           {of(pool{fresh: true}, "ms41-worker10-seq12@2027-01-01"), []string{"wrong namespace: lies ahead"}},
	})
}

func TestCountersAreJudged(t *testing.T) {
	of := func(lived time.Duration, next int64) func(*Report) {
		i := counter.Info{Name: "x", Kind: "ticket", Start: 1, Increment: 1, Limit: 1000, Created: now().Add(-lived)}
		i.Lanes = []counter.Lane{{Next: next}}
		return func(r *Report) { judgeCounter(r, i, nil, now()) }
	}
	judged(t, map[string]judgement{
		"well":               {of(time.Hour, 2), nil},
		"a tenth is left":    {of(time.Hour, 901), []string{"watch counters: 100 numbers are left up to its limit, 1000"}},
		"more is left":       {of(time.Hour, 890), nil},
		"ends within a year": {of(300*24*time.Hour, 501), []string{"watch counters: 500 numbers are left"}},
		"ends in two years":  {of(730*24*time.Hour, 501), nil},
		"used up":            {of(time.Hour, 1001), []string{"wrong counters: 0 numbers are left"}},
		"beyond a lower one": {of(time.Hour, 2000), []string{"wrong counters: 0 numbers are left"}},
		"can't be read":      {func(r *Report) { judgeCounter(r, counter.Info{}, errors.New("counter x: torn"), now()) }, []string{"wrong counters: counter x: torn"}},
	})
}
