package filestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/disk/modeldisk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// earlier makes a store of format 1 as its last version did, with registers of these keys.
func earlier(t *testing.T, dir string, keys ...string) {
	t.Helper()
	write := func(path, content string) {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(path)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shards {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(shardAt(i).folder())), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range keys {
		write(earlierPath(key), string(encodeRegister(key, storeclient.Token{byte(i + 1)}, []byte("of format 1"))))
		write(shardOf(key).folder()+"/"+earlierNew, "torn")
	}
	write(lockName, "--")
	write(markerName, marker(1))
}

func TestStoreOfFormat1IsTakenOverRegisterByRegister(t *testing.T) {
	dir := t.TempDir()
	earlier(t, dir, "a", "b")
	s := open(t, dir)
	other := open(t, dir) // a second process of this version sees nothing to do
	e, err := s.Get(t.Context(), "a")
	if err != nil || string(e.Value) != "of format 1" || e.Version != store.Version(storeclient.Token{1}.String()) {
		t.Fatalf("%+v, %v", e, err)
	}
	version := swap(t, s, "a", e.Version, "second")
	if _, err := other.Swap(t.Context(), "a", e.Version, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a swap of the version of format 1: %v", err)
	}
	swap(t, other, "a", version, "third")
	swap(t, other, "c", "", "new")
	var listed []string
	for e, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, e.Key+"="+string(e.Value))
	}
	slices.Sort(listed)
	if want := []string{"a=third", "b=of format 1", "c=new"}; !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	names, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(shardOf("a").folder())))
	if err != nil || len(names) != 1 || names[0].Name() != "a.v" {
		t.Errorf("the shard of a converted register holds %v, %v", names, err)
	}
}

// TestProgramOfFormat1IsShutOut does as such programs do at each of their calls and when
// they open a store.
func TestProgramOfFormat1IsShutOut(t *testing.T) {
	dir := t.TempDir()
	earlier(t, dir, "a")
	lock := filepath.Join(dir, lockName)
	before, err := os.Stat(lock)
	if err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	// One that runs: its lock file is gone, which is ErrReplaced to it.
	if after, err := os.Stat(lock); err != nil || os.SameFile(before, after) {
		t.Errorf("the lock file is the same, %v", err)
	}
	// One that stands between its look at the marker and its opening of the lock.
	if _, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("the lock opens: %v", err)
	}
	// One that opens the store later reads a marker of a newer format.
	if content, err := os.ReadFile(filepath.Join(dir, markerName)); err != nil || string(content) != marker(2) {
		t.Errorf("marker %q, %v", content, err)
	}
}

// countingClock lets every wait end at once. At the wait of that number it calls reached.
type countingClock struct {
	at      int32
	reached func()
	waits   atomic.Int32
}

func (c *countingClock) Wall() time.Time          { return time.Unix(0, 0) }
func (c *countingClock) Monotonic() time.Duration { return 0 }

func (c *countingClock) After(time.Duration) (<-chan time.Time, func() bool) {
	if c.waits.Add(1) == c.at {
		c.reached()
	}
	expired := make(chan time.Time, 1)
	expired <- time.Unix(0, 0)
	return expired, func() bool { return true }
}

func TestTakeoverWaitsForALockOfFormat1AndItsContextEndsTheWait(t *testing.T) {
	dir := t.TempDir()
	earlier(t, dir, "a")
	d, err := disk.Open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := d.Open(lockName)
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := lock.TryLock(); err != nil || !locked {
		t.Fatal(locked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Open(ctx, Config{Dir: dir, Clock: &countingClock{at: 10, reached: cancel}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), filepath.Join(dir, lockName)) || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("error %v, want context.Canceled and the lock's path", err)
	}
	clock := &countingClock{at: 10, reached: func() {
		if err := errors.Join(lock.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}}
	s, err := Open(t.Context(), Config{Dir: dir, Clock: clock})
	if err != nil || clock.waits.Load() < 10 {
		t.Fatalf("opened after %d waits, %v", clock.waits.Load(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPreparationThatIsStoppedAtAnyStepIsCarriedOn stops, kills or fails a process at each
// step while it makes a store or takes one over, lets the power fail or not, and opens the
// store after and beside it. Of the steps that are the same for each of the 256 folders it takes some.
func TestPreparationThatIsStoppedAtAnyStepIsCarriedOn(t *testing.T) {
	for _, format := range []int{0, 1} {
		t.Run(fmt.Sprintf("from format %d", format), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, uint64(format)))
			steps := stopPreparation(t, rng, format, 1<<20)
			for stop := 1; stop <= steps; stop++ {
				if edge := min(stop, steps-stop); edge < 50 || stop%20 == 0 {
					stopPreparation(t, rng, format, stop)
				}
			}
		})
	}
}

// stopPreparation stops a process at a step, and returns how many it has made.
func stopPreparation(t *testing.T, rng *rand.Rand, format, stop int) (steps int) {
	w := &world{t: t, seed: uint64(stop), rng: rng}
	w.disk = modeldisk.New(w.pick)
	if format == 1 {
		w.earlier(w.disk.Process())
	}
	var err error
	a := w.start("first", w.disk, func(a *actor) {
		_, err = openOn(t.Context(), a.process, "/model", Config{Rand: source{rng}})
	})
	for ok := true; ok && steps < stop; steps++ {
		if _, ok = a.step(); !ok && err != nil {
			t.Fatal(err)
		}
	}
	after := w.disk.Clone(w.pick)
	after.LosePower(w.pick)
	w.usable(after, "the power failed")
	if rng.IntN(2) == 0 {
		a.process.Kill()
	}
	// One that is stopped holds the lock of format 1 for some steps, and is waited for.
	if a.process.Locks() == 0 {
		w.usable(w.disk, "beside it")
	}
	for _, ok := a.step(); ok; _, ok = a.step() { // carries on, or ends at once
	}
	if !a.process.Dead() && err != nil {
		w.fatalf("stopped at step %d, the process can't go on: %v", stop, err)
	}
	a.stop()
	w.usable(w.disk, "after it")
	return steps
}

// TestPreparationSyncsWhatAWriterOfFormat1HasRenamed takes over a store whose last writer was
// killed between its rename and its fsync.
func TestPreparationSyncsWhatAWriterOfFormat1HasRenamed(t *testing.T) {
	for seed := range uint64(20) {
		w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 9))}
		w.disk = modeldisk.New(w.pick)
		p := w.disk.Process()
		w.earlier(p)
		made := shardOf(testKey).folder() + "/" + earlierNew
		w.file(p, made, encodeRegister(testKey, storeclient.Token{2}, []byte("AB")))
		w.must(p.Rename(made, earlierPath(testKey)))
		w.known = "AB"
		if _, err := openOn(t.Context(), p, "/model", Config{Rand: source{w.rng}}); err != nil {
			t.Fatal(err)
		}
		w.disk.LosePower(w.pick)
		w.usable(w.disk, "after it")
	}
}

// earlier makes a store of format 1 with a register on the model disk.
func (w *world) earlier(p *modeldisk.Process) {
	w.must(p.Mkdir(registersName))
	for i := range shards {
		w.must(p.Mkdir(shardAt(i).folder()))
	}
	w.file(p, earlierPath(testKey), encodeRegister(testKey, storeclient.Token{1}, []byte("A")))
	w.file(p, lockName, []byte("--"))
	w.file(p, markerName, []byte(marker(1)))
	w.must(p.Sync(registersName), p.Sync("."), p.Sync(shardOf(testKey).folder()))
	w.known = "A"
}

// usable opens the store anew, which shows all that is known, and swaps.
func (w *world) usable(d *modeldisk.Disk, when string) {
	w.t.Helper()
	known := w.known
	a := w.start(when, d, func(a *actor) {
		s, err := openOn(w.t.Context(), a.process, "/model", Config{Rand: source{w.rng}})
		if err != nil {
			w.fatalf("%s: open: %v", when, err)
		}
		a.store = s
		a.swap()
	})
	for _, ok := a.step(); ok; _, ok = a.step() {
	}
	if len(w.known) != len(known)+1 {
		w.fatalf("%s: nothing can be swapped", when)
	}
	if d != w.disk {
		w.known = known
	}
}
