package doctor

import (
	"errors"
	"io/fs"
	"os"
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
	left := want
	for _, f := range r.Findings {
		if f.Severity == Seen {
			continue
		}
		line := string(f.Severity) + " " + f.Check + ": " + f.Text
		if f.Remedy == "" {
			t.Errorf("%s: no remedy", line)
		}
		found := false
		for i, w := range left {
			start, part, _ := strings.Cut(w, ": ")
			if strings.HasPrefix(line, start+": ") && strings.Contains(line, part) {
				left, found = append(append([]string{}, left[:i]...), left[i+1:]...), true
				break
			}
		}
		if !found {
			t.Errorf("not expected: %s", line)
		}
	}
	if len(left) > 0 {
		t.Errorf("not found: %q", left)
	}
}

func TestSettingsAreJudged(t *testing.T) {
	fault := &config.Error{Key: "htpp", Reason: "is no setting"}
	file := map[string]config.Generator{"a": {Kind: config.KindSnowflake, Stores: []string{"one"}}}
	stores := map[string]string{"one": "file:/one", "two": "file:/two"}
	for name, x := range map[string]struct {
		settings
		want []string
	}{
		"nothing odd":           {settings{}, nil},
		"a fault":               {settings{faults: fault}, []string{"wrong configuration: htpp: is no setting"}},
		"another error":         {settings{faults: errors.New("two kinds")}, []string{"wrong configuration: two kinds"}},
		"a warning":             {settings{odd: []string{"token-file: others have access"}}, []string{"watch configuration: others have access"}},
		"certificate of a year": {settings{now: now(), ends: now().AddDate(1, 0, 0)}, nil},
		"certificate of 29 days": {settings{now: now(), ends: now().AddDate(0, 0, 29)},
			[]string{"watch configuration: the certificate ends at 2026-06-30"}},
		"certificate of a day": {settings{now: now(), ends: now().AddDate(0, 0, 1)}, []string{"wrong configuration: ends at 2026-06-02"}},
		"an unused store": {settings{Config: config.Config{Stores: stores, Generators: file}},
			[]string{"watch configuration: stores.two is set and unused"}},
		"memory": {settings{Config: config.Config{Store: "mem://", Generators: map[string]config.Generator{"a": {Kind: config.KindSnowflake}}}},
			[]string{"watch configuration: generator a: each process"}},
		"open to all": {settings{Config: config.Config{HTTP: "0.0.0.0:1", Health: "0.0.0.0:2", RESP: "127.0.0.1:3", Insecure: true}},
			[]string{"watch configuration: http: every host"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			x.judge(r)
			compare(t, r, x.want...)
		})
	}
}

func TestPortsAreJudged(t *testing.T) {
	taken := &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE}
	for name, x := range map[string]struct {
		err  error
		live bool
		want []string
	}{
		"free":             {nil, false, nil},
		"free beside ours": {nil, true, nil},
		"taken":            {taken, false, []string{"wrong ports: resp: 127.0.0.1:1 is in use"}},
		"taken by our own": {taken, true, []string{"note ports: resp: 127.0.0.1:1 is in use, and a daemon"}},
		"not allowed":      {&os.SyscallError{Syscall: "bind", Err: syscall.EACCES}, false, []string{"wrong ports: permission denied"}},
		"not of this host": {&os.SyscallError{Syscall: "bind", Err: syscall.EADDRNOTAVAIL}, true, []string{"wrong ports: resp: bind"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			judgePort(r, "resp", "127.0.0.1:1", x.err, x.live)
			compare(t, r, x.want...)
		})
	}
}

func TestFoldersAreJudged(t *testing.T) {
	const ms = time.Millisecond
	quick, slow := []time.Duration{ms, 300 * ms, ms}, []time.Duration{30 * ms, 30 * ms, ms}
	for name, x := range map[string]struct {
		folder
		want []string
	}{
		"well":               {folder{must: true, free: 1 << 30, syncs: quick}, nil},
		"nothing is known":   {folder{must: true}, nil},
		"not writable":       {folder{must: true, err: fs.ErrPermission}, []string{"wrong disk: can't be written: permission"}},
		"not writable, auto": {folder{err: fs.ErrPermission}, []string{"watch disk: can't be written"}},
		"network":            {folder{must: true, system: disk.System{Name: "NFS", Network: true}}, []string{"wrong disk: is on NFS"}},
		"memory":             {folder{must: true, system: disk.System{Name: "tmpfs", Forgets: "at a reboot"}}, []string{"watch disk: forgets everything at a reboot"}},
		"slow":               {folder{must: true, syncs: slow}, []string{"watch disk: an fsync takes 30ms, at worst 30ms"}},
		"little room":        {folder{must: true, free: 50 << 20}, []string{"watch disk: only 50.0 MiB"}},
		"no room":            {folder{must: true, free: 4096}, []string{"wrong disk: only 4.0 KiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			x.judge(r)
			compare(t, r, x.want...)
		})
	}
}

func TestLimitsAndClocksAreJudged(t *testing.T) {
	limits := config.Limits{Connections: 100, Memory: 1 << 20}
	for name, x := range map[string]struct {
		judge func(*Report)
		want  []string
	}{
		"well":                 {func(r *Report) { judgeLimits(r, limits, 100, 1<<20) }, nil},
		"no control group":     {func(r *Report) { judgeLimits(r, limits, 100, 0) }, nil},
		"few files":            {func(r *Report) { judgeLimits(r, limits, 16, 0) }, []string{"watch process: for 16 connections, and limits.connections is 100"}},
		"little memory":        {func(r *Report) { judgeLimits(r, limits, 100, 1<<19) }, []string{"wrong process: allows 512.0 KiB, and limits.memory is 1.0 MiB"}},
		"clock is right":       {func(r *Report) { judgeClock(r, "x", -time.Second, time.Second) }, nil},
		"clock is two off":     {func(r *Report) { judgeClock(r, "x", -2*time.Second, time.Second) }, []string{"watch clock: -2s ahead of x"}},
		"clock is an hour off": {func(r *Report) { judgeClock(r, "x", time.Hour, time.Second) }, []string{"wrong clock: 1h0m0s ahead of x"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			x.judge(r)
			compare(t, r, x.want...)
		})
	}
}

func TestStoresAreJudged(t *testing.T) {
	slow := []time.Duration{3 * time.Millisecond, 11 * time.Second, 3 * time.Millisecond}
	fenced := config.Generator{Kind: config.KindSnowflake, Window: time.Minute}
	for name, x := range map[string]struct {
		opened
		g    config.Generator
		want []string
	}{
		"well":                 {opened{reads: slow[:1]}, fenced, nil},
		"new":                  {opened{err: store.ErrNoStore}, fenced, nil},
		"gone":                 {opened{err: store.ErrNoStore, mustExist: true}, fenced, []string{"wrong store: nothing is there"}},
		"away":                 {opened{err: errors.New("refused"), mustExist: true}, fenced, []string{"wrong store: refused"}},
		"of format 1":          {opened{err: errEarlier}, fenced, []string{"watch store: format 1"}},
		"slow for its window":  {opened{reads: slow}, fenced, []string{"wrong store: a read took 11s"}},
		"slow for counters":    {opened{reads: slow}, config.Generator{Kind: "ticket"}, []string{"watch store: a read takes 3ms, at worst 11s"}},
		"an engine's warning":  {opened{warnings: []string{"the loss is the default"}}, fenced, []string{"watch store: the loss is the default"}},
		"a window too short":   {opened{traits: store.Traits{Loss: 30 * time.Second}}, fenced, []string{"wrong store: window"}},
		"a clock that is off":  {opened{clock: true, ahead: time.Hour, name: "redis://a"}, fenced, []string{"wrong clock: 1h0m0s ahead of the clock of redis://a"}},
		"a clock that is well": {opened{clock: true, ahead: time.Second}, fenced, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Report)
			x.judge(r)
			x.judgeFor(r, x.g)
			compare(t, r, x.want...)
		})
	}
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
	findings := []roster.Finding{{Severity: roster.Fault, Check: roster.CheckReadable}, {Severity: roster.Warning, Check: roster.CheckAhead}, {Severity: roster.Note, Check: roster.CheckProcess}}
	of := func(layout string) config.Generator {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			t.Fatal(err)
		}
		return config.Generator{Layout: l}
	}
	for name, x := range map[string]struct {
		pool
		want []string
	}{
		"well":                    {pool{census: census(9, 1, 0)}, nil},
		"new":                     {pool{fresh: true}, nil},
		"gone":                    {pool{fresh: true, mustExist: true}, []string{"wrong namespace: ids is not there"}},
		"of another layout":       {pool{err: errors.New("another layout")}, []string{"wrong namespace: another layout"}},
		"nearly full":             {pool{census: census(1, 19, 0)}, []string{"watch namespace: of 20 worker ids 1 are free"}},
		"full":                    {pool{census: census(0, 2, 0)}, []string{"wrong namespace: of 2 worker ids 0 are free"}},
		"full, one rests":         {pool{census: census(0, 1, 1)}, []string{"watch namespace: of 2 worker ids 0 are free"}},
		"full, a daemon is live":  {pool{census: census(0, 2, 0), live: true}, []string{"watch namespace: of 2 worker ids 0 are free"}},
		"full, as in standby":     {pool{census: census(0, 1, 0), Generator: config.Generator{Standby: true}}, []string{"watch namespace: of 1 worker ids 0 are free"}},
		"a pinned worker is held": {pool{census: census(9, 1, 0), pinned: errors.New("worker 3: held")}, []string{"wrong namespace: worker 3: held"}},
		"a silent holder":         {pool{census: silent}, []string{"watch namespace: 1 holder missed the time"}},
		"clocks are apart":        {pool{census: apart}, []string{"watch clock: are at least 50s apart"}},
		"clocks are near":         {pool{census: near}, nil},
		"registers":               {pool{census: census(9, 1, 0), faults: findings}, []string{"wrong namespace: readable", "watch namespace: ahead"}},
		"ends in a year":          {pool{census: census(9, 1, 0), Generator: of("s28-worker10-seq12@2018-01-01")}, []string{"watch namespace: ends on 2026-07-04"}},
		"has ended":               {pool{fresh: true, Generator: of("s28-worker10-seq12@2016-01-01")}, []string{"wrong namespace: ends on 2024-07-03"}},
		"has not begun":           {pool{fresh: true, Generator: of("ms41-worker10-seq12@2027-01-01")}, []string{"wrong namespace: lies ahead"}},
	} {
		t.Run(name, func(t *testing.T) {
			if x.now, x.Namespace, x.Policy.MaxRollback = now(), "ids", 5*time.Second; x.Layout.IsZero() {
				x.Layout = snowfence.DefaultLayout()
			}
			r := new(Report)
			x.judge(r)
			compare(t, r, x.want...)
		})
	}
}

func TestCountersAreJudged(t *testing.T) {
	for name, x := range map[string]struct {
		next, limit int64
		lived       time.Duration
		err         error
		want        []string
	}{
		"well":               {2, 1000, time.Hour, nil, nil},
		"a tenth is left":    {901, 1000, time.Hour, nil, []string{"watch counters: 100 numbers are left up to its limit, 1000"}},
		"more is left":       {890, 1000, time.Hour, nil, nil},
		"ends within a year": {501, 1000, 300 * 24 * time.Hour, nil, []string{"watch counters: 500 numbers are left"}},
		"ends in two years":  {501, 1000, 730 * 24 * time.Hour, nil, nil},
		"used up":            {1001, 1000, time.Hour, nil, []string{"wrong counters: 0 numbers are left"}},
		"beyond a lower one": {2000, 1000, time.Hour, nil, []string{"wrong counters: 0 numbers are left"}},
		"can't be read":      {0, 0, 0, errors.New("counter x: torn"), []string{"wrong counters: counter x: torn"}},
	} {
		t.Run(name, func(t *testing.T) {
			i, r := counter.Info{Name: "x", Kind: "ticket", Start: 1, Increment: 1, Limit: x.limit, Created: now().Add(-x.lived)}, new(Report)
			if i.Lanes = []counter.Lane{{Next: x.next}}; x.err != nil {
				i.Lanes = nil
			}
			judgeCounter(r, i, x.err, now())
			compare(t, r, x.want...)
		})
	}
}
