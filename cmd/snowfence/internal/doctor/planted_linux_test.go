package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// moved is the system's clock, whose wall begins at another time.
type moved struct {
	snowfence.Clock
	wall time.Time
	at   time.Duration
}

func clockFrom(wall time.Time) snowfence.Clock {
	system := snowfence.SystemClock()
	return moved{system, wall, system.Monotonic()}
}

func (c moved) Wall() time.Time { return c.wall.Add(c.Monotonic() - c.at) }

// world is a host on which faults are planted.
type world struct {
	*testing.T
	folder string
	config Config
	file   string // the settings
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, folder: t.TempDir(), config: Config{Clock: clockFrom(now()), Open: OpenReading}}
	w.file = "http: 127.0.0.1:0\nresp: 127.0.0.1:0\ngrpc: 127.0.0.1:0\nthrift: 127.0.0.1:0\n"
	return w
}

// path returns the path of a file with this content.
func (w *world) path(name, content string, mode fs.FileMode) string {
	w.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		w.Fatal(err)
	}
	return path
}

// open opens the store in the folder.
func (w *world) open() store.Store {
	w.Helper()
	s, err := openstore.Open(w.Context(), "file:"+filepath.Join(w.folder, "data/store"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// hold claims a worker id by a clock: the pinned one, or any.
func (w *world) hold(clock snowfence.Clock, layout string, pinned ...int64) *fence.Holder {
	w.Helper()
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		w.Fatal(err)
	}
	c := fence.Config{Store: w.open(), Layout: l, Clock: clock}
	if len(pinned) > 0 {
		c.Worker = &pinned[0]
	}
	h, err := fence.Open(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// examine returns the findings, without those about this machine as it happens to be.
func (w *world) examine() *Report {
	w.Helper()
	path := w.path("settings.yaml", w.file, 0o600)
	w.config.Settings, w.config.Loading = daemon.Load(daemon.Sources{File: path, Flags: map[string]string{"data": filepath.Join(w.folder, "data")}})
	r := Examine(w.Context(), w.config)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		about := func(text string) bool { return strings.Contains(f.Text, text) }
		return f.Severity == Watch && f.Check == "disk" || slices.ContainsFunc([]string{"the kernel marks", "its own ticks"}, about)
	})
	return r
}

func TestHealthyHostHasNoFindingAndNothingIsMade(t *testing.T) {
	w := newWorld(t)
	compare(t, w.examine())
	if left, err := os.ReadDir(w.folder); err != nil || len(left) != 1 {
		t.Errorf("beside the settings there are %v, %v", left, err)
	}
	if err := w.hold(w.config.Clock, "ms41-worker10-seq12@2026-01-01").Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.tree()
	compare(t, w.examine())
	if after := w.tree(); !slices.Equal(before, after) {
		t.Errorf("the examination changed the store:\n%q\n%q", before, after)
	}
}

// tree lists the files of the store, with the times of their changes.
func (w *world) tree() (all []string) {
	err := filepath.WalkDir(filepath.Join(w.folder, "data/store/registers"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all = append(all, path+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func TestFolderOfFormat1IsNotTakenOver(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.folder, "data/store/registers"), 0o700); err != nil {
		t.Fatal(err)
	}
	marker := w.path("data/store/snowfence.store", "snowfence file store, format 1\n\nSnowfence keeps here", 0o600)
	compare(t, w.examine(), "watch store: format 1")
	if left, err := os.ReadDir(filepath.Dir(marker)); err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// TestEachPlantedFaultIsNamed plants one fault at a time on a healthy host.
func TestEachPlantedFaultIsNamed(t *testing.T) {
	for name, x := range map[string]struct {
		plant func(*world)
		want  []string
	}{
		"unknown setting": {func(w *world) { w.file += "htpp: x\n" }, []string{"wrong configuration: htpp"}},
		"token file that all can read": {func(w *world) {
			w.file += "token-file: " + w.path("token", "all "+token.HashOf("Correct-horse-battery").String()+"\n", 0o644) + "\n"
			w.file = strings.Replace(w.file, "thrift: 127.0.0.1:0", `thrift: ""`, 1)
		}, []string{"watch configuration: token-file"}},
		"certificate that ends tomorrow": {func(w *world) {
			certificate, key := testkit.NewAuthority(w).Issue(w, "daemon", "127.0.0.1") // for 30 days
			w.file += "tls:\n  certificate: " + certificate + "\n  key: " + key + "\n"
			w.config.Clock = clockFrom(time.Now().AddDate(0, 0, 29))
		}, []string{"wrong configuration: the certificate ends at"}},
		"port that is taken": {func(w *world) {
			l, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				w.Fatal(err)
			}
			w.Cleanup(func() { _ = l.Close() })
			w.file = strings.Replace(w.file, "resp: 127.0.0.1:0", "resp: "+l.Addr().String(), 1)
		}, []string{"wrong ports: resp: 127.0.0.1:"}},
		"file in the place of the folder": {func(w *world) { w.path("data", "", 0o600) }, []string{"wrong disk: can't be written", "wrong store: not a directory"}},
		"clock an hour off": {func(w *world) {
			memory := memstore.NewWith(memstore.Config{Now: func() time.Time { return w.config.Clock.Wall().Add(time.Hour) }})
			w.file += "store: redis://127.0.0.1:1\n"
			w.config.Open = func(context.Context, string) (store.Store, error) { return memory.Client(), nil }
		}, []string{"wrong clock: this host's clock is -1h0m0s ahead of the clock of redis://"}},
		"full pool": {func(w *world) {
			w.file += "layout: ms41-worker1-seq12\n"
			w.hold(w.config.Clock, "ms41-worker1-seq12@2026-01-01")
			w.hold(w.config.Clock, "ms41-worker1-seq12@2026-01-01")
		}, []string{"wrong namespace: of 2 worker ids 0 are free"}},
		"layout that ends within a year": {func(w *world) { w.file += "layout: s28-worker10-seq12@2018-01-01\n" },
			[]string{"watch namespace: the time of layout s28-worker10-seq12@2018-01-01T00:00:00Z ends on 2026-07-04"}},
		"layout that is not the namespace's": {func(w *world) {
			w.file += "layout: ms41-worker8-seq14\n"
			w.hold(w.config.Clock, "ms41-worker10-seq12@2026-01-01")
		}, []string{"wrong namespace: ms41-worker10-seq12"}},
		"store that is gone": {func(w *world) { w.file += "store-must-exist: true\n" }, []string{"wrong store: nothing is there", "wrong namespace: default is not there"}},
		"store that is away": {func(w *world) {
			w.file += "store: etcd://127.0.0.1:1\n"
			w.config.Open = func(context.Context, string) (store.Store, error) { return nil, errors.New("connection refused") }
		}, []string{"wrong store: etcd://127.0.0.1:1: connection refused", "watch configuration: data is set and unused"}},
		"worker that is held": {func(w *world) {
			w.file += "generators: {default: {worker: 3}}\n"
			w.hold(w.config.Clock, "ms41-worker10-seq12@2026-01-01", 3)
		}, []string{"wrong namespace: worker 3: held by"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			x.plant(w)
			compare(t, w.examine(), x.want...)
		})
	}
}
