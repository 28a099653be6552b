package filestore

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/disk/modeldisk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

var (
	runs = flag.Int("filestore.runs", 2000, "schedules of processes on the model disk, for each state that they begin in")
	from = flag.Uint64("filestore.from", 0, "the first schedule's seed")
)

const (
	testKey = "fence/default/0007"

	// aloneSteps is how many steps a call may take while no other process goes on.
	aloneSteps = 80
)

var errDisk = errors.New("the disk reports an error")

// source gives the random bytes of versions.
type source struct{ rng *rand.Rand }

func (s source) Read(b []byte) (int, error) {
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], s.rng.Uint64())
		copy(b[i:], word[:])
	}
	return len(b), nil
}

// A world is one schedule: processes that read and swap one register on a model disk. Each
// swap appends a letter of its own to the value, so a value shows all swaps that it rests on.
type world struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	disk    *modeldisk.Disk
	letters int
	refused string // letters of swaps that ended with a conflict: they have no effect
	known   string // the longest value that was acknowledged or read: it must not be lost
	trace   []string
}

func (w *world) pick(n int) int { return w.rng.IntN(n) }

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\nknown %q, refused %q, steps:\n%s", w.seed, fmt.Sprintf(format, args...), w.known, w.refused, strings.Join(w.trace, "\n"))
}

// observe takes in a value that was read or acknowledged by a call that began when floor
// was known.
func (w *world) observe(who, value, floor string) {
	w.t.Helper()
	if !strings.HasPrefix(value, floor) {
		w.fatalf("%s finds %q, though %q was known before", who, value, floor)
	}
	if !strings.HasPrefix(value, w.known) && !strings.HasPrefix(w.known, value) {
		w.fatalf("%s finds %q, and another process %q", who, value, w.known)
	}
	if strings.ContainsAny(value, w.refused) {
		w.fatalf("%s finds %q", who, value)
	}
	if len(value) > len(w.known) {
		w.known = value
	}
}

// An actor is a process of a world. It goes on by one step at a time.
type actor struct {
	world   *world
	name    string
	process *modeldisk.Process
	store   *Store
	next    func() (string, bool)
	stop    func()
	fault   modeldisk.Fault // of its next step
	alone   int             // steps of its call since it is alone
}

// start begins a process that runs script, and stands before its first step.
func (w *world) start(name string, d *modeldisk.Disk, script func(a *actor)) *actor {
	a := &actor{world: w, name: name, process: d.Process()}
	a.store = &Store{disk: a.process, path: "/model", random: source{w.rng}, life: storeclient.Begin()}
	a.next, a.stop = iter.Pull(func(yield func(string) bool) {
		a.process.Before = func(step string) (f modeldisk.Fault) {
			if !yield(step) {
				return modeldisk.Fault{Kill: true}
			}
			f, a.fault = a.fault, f
			return f
		}
		script(a)
	})
	return a
}

// step makes one step and returns the name of the next one, and false if there is none.
func (a *actor) step() (next string, ok bool) {
	next, ok = a.next()
	if ok {
		a.world.trace = append(a.world.trace, a.name+" stands before "+next)
	}
	return next, ok
}

// before lets the process go on until it stands before the first of these steps, then
// before the second, and so on. It reports whether it came there.
func (a *actor) before(steps ...string) bool {
	for len(steps) > 0 {
		next, ok := a.step()
		if !ok {
			return false
		}
		if next == steps[0] {
			steps = steps[1:]
		}
	}
	return true
}

// finish lets the process go on alone, until it ends.
func (a *actor) finish() {
	a.alone = 0
	for _, ok := a.step(); ok; _, ok = a.step() {
		if a.alone++; a.alone > aloneSteps {
			a.world.fatalf("%s takes more than %d steps though it is alone", a.name, aloneSteps)
		}
	}
}

// reads finds the register n times.
func reads(n int) func(a *actor) {
	return func(a *actor) {
		for range n {
			if _, ok := a.read(); !ok {
				return
			}
		}
	}
}

// swaps makes n swaps, each of the version that it finds.
func swaps(n int) func(a *actor) {
	return func(a *actor) {
		for range n {
			if !a.swap() {
				return
			}
		}
	}
}

// read reports whether the process goes on.
func (a *actor) read() (store.Entry, bool) {
	floor := a.world.known
	a.alone = 0
	r, err := a.store.find(testKey)
	if err != nil {
		return store.Entry{}, a.judge("read", err)
	}
	a.world.observe(a.name, string(r.entry.Value), floor)
	return r.entry, true
}

func (a *actor) swap() bool {
	e, ok := a.read()
	if !ok {
		return ok
	}
	w := a.world
	letter := string(rune('B' + w.letters))
	w.letters++
	value := string(e.Value) + letter
	a.alone = 0
	w.trace = append(w.trace, fmt.Sprintf("%s swaps %q", a.name, value))
	_, err := a.store.swap(testKey, e.Version, []byte(value))
	w.trace = append(w.trace, fmt.Sprintf("%s has swapped %q: %v", a.name, value, err))
	switch {
	case err == nil:
		w.observe(a.name, value, "")
		return true
	case errors.Is(err, store.ErrConflict):
		w.refused += letter
		if strings.Contains(w.known, letter) {
			w.fatalf("%s finds a conflict, but its swap is made", a.name)
		}
		return true
	}
	return a.judge("swap", err)
}

// judge reports whether the process goes on after an error. Only the errors of its own
// disk are allowed.
func (a *actor) judge(verb string, err error) bool {
	switch {
	case errors.Is(err, modeldisk.ErrKilled), errors.Is(err, ErrFailed) && errors.Is(err, errDisk):
		return false
	case errors.Is(err, errDisk):
		return true
	}
	a.world.fatalf("%s: %s: %v", a.name, verb, err)
	return false
}

// A beginning is a state of the register that schedules begin in.
type beginning struct {
	name    string
	prepare func(w *world, p *modeldisk.Process)
}

// folder makes the folder of the register, and no other one.
func folder(w *world, p *modeldisk.Process) {
	at := shardOf(testKey).folder()
	w.must(p.Mkdir(registersName), p.Mkdir(at), p.Sync("."), p.Sync(registersName))
}

func (w *world) must(errs ...error) {
	w.t.Helper()
	if err := errors.Join(errs...); err != nil {
		w.fatalf("%v", err)
	}
}

// file makes a durable file.
func (w *world) file(p *modeldisk.Process, path string, content []byte) {
	f, err := p.Create(path)
	w.must(err)
	w.must(f.Write(content), f.Sync(), f.Close())
}

func beginnings() []beginning {
	return []beginning{
		{"absent", folder},
		{"there", func(w *world, p *modeldisk.Process) {
			folder(w, p)
			s := &Store{disk: p, path: "/model", random: source{w.rng}, life: storeclient.Begin()}
			_, err := s.swap(testKey, "", []byte("A"))
			w.must(err, p.Sync(registerPath(testKey)), p.Sync(shardOf(testKey).folder()))
			w.known = "A"
		}},
		{"format 1", func(w *world, p *modeldisk.Process) {
			folder(w, p)
			w.file(p, earlierPath(testKey), encodeRegister(testKey, storeclient.Token{1}, []byte("A")))
			w.must(p.Sync(shardOf(testKey).folder()))
			w.known = "A"
		}},
	}
}

// TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap draws schedules of two or three writers
// and readers, step by step. Any of them is stopped, killed or fails at any step, and the
// power fails at any step, then once more. Nothing that was acknowledged or read is lost, no
// swap that ended with a conflict takes effect, each process alone ends its call, and one
// that comes anew leaves two files.
func TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap(t *testing.T) {
	all := t
	for _, b := range beginnings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for i := 0; i < *runs && !all.Failed(); i++ { // one broken rule is enough
				seed := *from + uint64(i)
				w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7))}
				w.disk = modeldisk.New(w.pick)
				b.prepare(w, w.disk.Process())
				w.run()
			}
		})
	}
}

func (w *world) run() {
	var actors []*actor
	for i := range 2 + w.pick(2) {
		actors = append(actors, w.start(fmt.Sprintf("writer %d", i+1), w.disk, swaps(1+w.pick(3))))
	}
	for range w.pick(3) {
		actors = append(actors, w.start("reader", w.disk, reads(1+w.pick(2))))
	}
	defer func() {
		for _, a := range actors {
			a.stop()
		}
	}()
	bursts, faults := w.pick(3), w.pick(3) // faults are of one kind, or absent
	sticky := []int{2, 4, 16}[w.pick(3)]
	live := slices.Clone(actors)
	for cuts, current := w.pick(4), 0; len(live) > 0; {
		if current >= len(live) || w.pick(sticky) == 0 {
			current = w.pick(len(live))
		}
		a := live[current]
		switch w.pick(40) {
		case 0: // stopped for good
			live = slices.Delete(live, current, current+1)
			continue
		case 1:
			if faults == 1 {
				a.fault = modeldisk.Fault{Kill: true, Done: w.pick(2) == 0}
			}
		case 2:
			if faults == 2 {
				a.fault = modeldisk.Fault{Err: errDisk, Done: w.pick(2) == 0}
			}
		}
		before := w.known
		next, ok := a.step()
		if ok && next == "listed" && bursts > 0 && w.pick(4) == 0 {
			bursts--
			last := w.burst()
			actors, live = append(actors, last), append(live, last)
			for n := w.pick(8); ok && n > 0; n-- {
				_, ok = a.step()
			}
		}
		if !ok {
			live = slices.Delete(live, current, current+1)
		} else if other := w.pick(len(live)); next == "sync folder" && other != current && w.pick(2) == 0 {
			// Another one goes on until its change is not durable either.
			if !live[other].before("rename", "sync folder") {
				live = slices.Delete(live, other, other+1)
			}
		}
		// The power fails now and then, and above all when something has become known or a
		// change of the folder is not yet durable.
		random := cuts > 0 && w.pick(10) == 0
		if random {
			cuts--
		}
		if random || w.known != before && w.pick(3) > 0 || next == "sync folder" && w.pick(4) == 0 {
			w.cut(w.disk, 1+w.pick(2))
		}
		if w.pick(200) == 0 {
			break // all that live go on one after the other
		}
	}
	for _, a := range live {
		a.finish()
	}
	w.anew(w.disk)
}

// burst lets one process swap while another one lists the folder, and one more that it
// returns, which stands before the sync of the folder or has ended.
func (w *world) burst() *actor {
	w.start("one in a hurry", w.disk, swaps(1)).finish()
	last := w.start("another one in a hurry", w.disk, swaps(1))
	last.before("rename", "sync folder")
	return last
}

// cut lets the power fail on a copy of the disk. A process that comes then reads, and may
// swap, while the power fails again. The world itself knows nothing of it afterwards.
func (w *world) cut(d *modeldisk.Disk, times int) {
	w.t.Helper()
	known, refused, trace := w.known, w.refused, len(w.trace)
	d = d.Clone(w.pick)
	d.LosePower(w.pick)
	w.trace = append(w.trace, "the power fails")
	a := w.start("one after it", d, func(a *actor) {
		if _, ok := a.read(); ok && w.pick(2) == 0 {
			a.swap()
		}
	})
	if w.pick(3) == 0 {
		a.before("rename", "sync folder")
	} else {
		for end, ok := w.pick(40), true; ok && end > 0; end-- {
			_, ok = a.step()
		}
	}
	if times > 1 {
		w.start("one beside it", d, reads(1)).finish()
		w.cut(d, times-1)
	}
	a.finish()
	if times == 1 && w.pick(3) == 0 {
		w.anew(d)
	}
	w.known, w.refused, w.trace = known, refused, w.trace[:trace]
}

// anew lets a process swap that is alone, which it can. It leaves two files.
func (w *world) anew(d *modeldisk.Disk) {
	w.t.Helper()
	var before, after string
	a := w.start("one that comes anew", d, func(a *actor) {
		a.read()
		before = w.known
		a.swap()
		after = w.known
	})
	a.finish()
	if len(after) != len(before)+1 {
		w.fatalf("one that comes anew can't swap")
	}
	names, err := d.Process().Names(registerPath(testKey))
	if err != nil || len(names) != 2 {
		w.fatalf("one that comes anew leaves %q, %v", names, err)
	}
}
