package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"snowfence.example/snowfence/store"
)

const testKey = "fence/default/0007"

// boot opens the machine's store in a new process.
func boot(t *testing.T, m *machine) (*Store, *process) {
	t.Helper()
	p := &process{machine: m}
	s, err := openOn(t.Context(), p, "/simulated", Config{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s, p
}

// prepared returns a machine whose store holds testKey at "old", or not at all,
// and the version.
func prepared(t *testing.T, exists bool) (*machine, store.Version) {
	t.Helper()
	m := newMachine()
	s, p := boot(t, m)
	var version store.Version
	if exists {
		var err error
		if version, err = s.Swap(t.Context(), testKey, "", []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	p.kill()
	return m, version
}

// read returns what a new process reads, "" for nothing, and checks that List
// agrees and that the store works on.
func read(t *testing.T, m *machine) string {
	t.Helper()
	s, p := boot(t, m)
	defer p.kill()
	e, err := s.Get(t.Context(), testKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get after reopening: %v", err)
	}
	listed := ""
	for e, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatalf("list after reopening: %v", err)
		}
		listed += string(e.Value)
	}
	if listed != string(e.Value) {
		t.Fatalf("list after reopening shows %q, get %q", listed, e.Value)
	}
	return string(e.Value)
}

// swappable checks that a new process can go on from what is there.
func swappable(t *testing.T, m *machine) {
	t.Helper()
	s, p := boot(t, m)
	defer p.kill()
	e, err := s.Get(t.Context(), testKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get after reopening: %v", err)
	}
	version, err := s.Swap(t.Context(), testKey, e.Version, []byte("next"))
	if err != nil {
		t.Fatalf("swap after reopening: %v", err)
	}
	if got, err := s.Get(t.Context(), testKey); err != nil || got.Version != version || string(got.Value) != "next" {
		t.Fatalf("get after swap: %q, %v", got.Value, err)
	}
	if shard, err := m.find(shardOf(testKey).folder()); err != nil || len(shard.entries) != 1 {
		t.Errorf("the folder holds %d files, %v: something was left behind", len(shard.entries), err)
	}
}

// afterEveryPowerLoss calls f for a copy of the machine after each way in which
// it can lose its power.
func afterEveryPowerLoss(m *machine, f func(m *machine)) {
	var c choices
	for {
		after := m.clone()
		after.losePower(c.pick)
		f(after)
		if !c.next() {
			return
		}
	}
}

// oldNew names the two states between which a swap of prepared moves.
func oldNew(exists bool) (before, after string) {
	if exists {
		return "old", "new"
	}
	return "", "new"
}

func TestKillOrPowerLossAtAnyStepLeavesOldOrNew(t *testing.T) {
	for _, exists := range []bool{false, true} {
		t.Run(fmt.Sprintf("replacing %v", exists), func(t *testing.T) {
			base, version := prepared(t, exists)
			old, changed := oldNew(exists)
			seen := make(map[string]int)
			for kill := 1; ; kill++ {
				m := base.clone()
				s, p := boot(t, m)
				p.killAt = p.step + kill
				_, err := s.Swap(t.Context(), testKey, version, []byte("new"))
				killed := p.dead
				p.kill()
				// What was acknowledged must stay; what was not may be either.
				allowed := []string{old, changed}
				if err == nil {
					allowed = allowed[1:]
				}
				if errors.Is(err, store.ErrConflict) {
					t.Fatalf("killed at step %d: a conflict", kill)
				}
				check := func(m *machine, how string) {
					m, again := m.clone(), m.clone()
					got := read(t, m)
					if !slices.Contains(allowed, got) {
						t.Fatalf("%s at step %d (%s): read %q, want one of %q; steps %q", how, kill, p.trace[len(p.trace)-1], got, allowed, p.trace)
					}
					seen[got]++
					// What was read is as good as acknowledged.
					afterEveryPowerLoss(m, func(m *machine) {
						if later := read(t, m); later != got {
							t.Fatalf("%s at step %d, then %q was read, and after another power loss %q", how, kill, got, later)
						}
					})
					swappable(t, again)
				}
				check(m, "killed")
				afterEveryPowerLoss(m, func(m *machine) { check(m, "killed and power lost") })
				if !killed {
					break
				}
			}
			if seen[old] == 0 || seen[changed] == 0 {
				t.Errorf("seen %v: the test does not reach both", seen)
			}
		})
	}
}

// TestReadersNeverSeeWhatCanStillBeLost shows the mark at work: a reader beside
// a writer never sees what a power failure would still take away.
func TestReadersNeverSeeWhatCanStillBeLost(t *testing.T) {
	base, version := prepared(t, true)
	for stop := 1; ; stop++ {
		m := base.clone()
		s, p := boot(t, m)
		p.killAt = p.step + stop
		_, err := s.Swap(t.Context(), testKey, version, []byte("new"))
		if err == nil && !p.dead {
			return
		}
		// A process that is stopped, not killed, keeps its lock.
		holds := p.trace[len(p.trace)-1] != "unlock" && slices.Contains(p.trace[p.killAt-stop:len(p.trace)-1], "lock")
		if holds {
			m.holder = p
		}
		reader, _ := boot(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		cancelling := &countingClock{limit: 3, reached: cancel}
		reader.clock = cancelling
		e, err := reader.Get(ctx, testKey)
		if err != nil {
			if !holds || !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped at step %d: get: %v", stop, err)
			}
			continue // it waited for the writer, and that is right
		}
		afterEveryPowerLoss(m, func(m *machine) {
			if got := read(t, m); got != string(e.Value) {
				t.Fatalf("stopped at step %d: %q was read, and after a power loss %q", stop, e.Value, got)
			}
		})
		cancel()
	}
}

func TestKillAtAnyStepOfCreationLeavesAPlaceForAStore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for kill := 1; ; kill++ {
		m := newMachine()
		p := &process{machine: m, killAt: kill}
		_, err := openOn(t.Context(), p, "/simulated", Config{})
		killed := p.dead
		p.kill()
		if err == nil && killed {
			t.Fatalf("killed at step %d: opened", kill)
		}
		for range 3 {
			after := m.clone()
			after.losePower(random.IntN)
			swappable(t, after)
		}
		// Whoever comes next finishes the creation, and relies on it at once.
		swappable(t, m)
		for range 3 {
			after := m.clone()
			after.losePower(random.IntN)
			if got := read(t, after); got != "next" {
				t.Fatalf("killed at step %d: an acknowledged swap is lost: %q", kill, got)
			}
		}
		if !killed {
			break
		}
	}
}

// eventfulDisk lets something happen just before a folder's names are read.
type eventfulDisk struct {
	disk
	happen func()
}

func (d *eventfulDisk) names(path string) ([]string, error) {
	if happen := d.happen; happen != nil {
		d.happen = nil
		happen()
	}
	return d.disk.names(path)
}

func TestStoreThatAppearsWhileOneLooksIsOpened(t *testing.T) {
	m := newMachine()
	d := &eventfulDisk{disk: &process{machine: m}, happen: func() { swappable(t, m) }}
	s, err := openOn(t.Context(), d, "/simulated", Config{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if e, err := s.Get(t.Context(), testKey); err != nil || string(e.Value) != "next" {
		t.Errorf("read %q, %v", e.Value, err)
	}
}

// TestFailureAtAnyStepIsNeverTakenForSuccessOrConflict lets each step of a swap fail, while the process lives.
func TestFailureAtAnyStepIsNeverTakenForSuccessOrConflict(t *testing.T) {
	base, version := prepared(t, true)
	for fail := 1; ; fail++ {
		m := base.clone()
		s, p := boot(t, m)
		p.failAt, p.failure = p.step+fail, errDisk
		acknowledged, err := s.Swap(t.Context(), testKey, version, []byte("new"))
		if p.step < p.failAt {
			if err != nil {
				t.Fatalf("without a failure: %v", err)
			}
			return
		}
		step := p.trace[p.failAt-1]
		// Once the swap is durable its writer may acknowledge it.
		if err == nil && acknowledged == "" || err != nil && !errors.Is(err, errDisk) {
			t.Fatalf("step %d (%s) failed: version %q, error %v", fail, step, acknowledged, err)
		}
		ends := step == "sync file" || step == "sync folder" || step == "unlock"
		e, err := s.Get(t.Context(), testKey)
		if ends {
			// The sticky error, for every verb.
			_, swapErr := s.Swap(t.Context(), testKey, version, nil)
			_, traitsErr := s.Traits(t.Context())
			var listErr error
			for _, listErr = range s.List(t.Context(), "") {
			}
			for _, err := range []error{err, swapErr, traitsErr, listErr} {
				if !errors.Is(err, ErrFailed) || !errors.Is(err, errDisk) {
					t.Errorf("after a failed %s: %v, want ErrFailed and its cause", step, err)
				}
			}
			p.kill()
		} else {
			if err != nil {
				t.Fatalf("get after a failed %s: %v", step, err)
			}
			if _, err := s.Swap(t.Context(), testKey, e.Version, []byte("next")); err != nil {
				t.Fatalf("swap after a failed %s: %v", step, err)
			}
			p.kill()
			if got := read(t, m); got != "next" {
				t.Fatalf("after a failed %s: %q", step, got)
			}
		}
		swappable(t, m)
	}
}

func TestFullDiskIsAnErrorAndNothingMore(t *testing.T) {
	base, version := prepared(t, true)
	m := base.clone()
	s, p := boot(t, m)
	for _, step := range []string{"create", "write", "rename"} {
		// Find the step's place in a swap, on a copy.
		trial, q := boot(t, base.clone())
		begun := q.step
		if _, err := trial.Swap(t.Context(), testKey, version, []byte("trial")); err != nil {
			t.Fatal(err)
		}
		place := slices.Index(q.trace[begun:], step) + 1
		// The store settles first what the last round left.
		if step != "create" {
			if _, err := s.Get(t.Context(), testKey); err != nil {
				t.Fatal(err)
			}
		}
		p.failAt, p.failure = p.step+place, syscall.ENOSPC
		if _, err := s.Swap(t.Context(), testKey, version, []byte("too much")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s on a full disk: %v", step, err)
		}
		if got := read(t, m.clone()); got != "old" {
			t.Fatalf("after %s on a full disk: %q", step, got)
		}
	}
	// Somebody has made room.
	if _, err := s.Swap(t.Context(), testKey, version, []byte("fits")); err != nil {
		t.Fatalf("swap once there is room: %v", err)
	}
	if got := read(t, m); got != "fits" {
		t.Errorf("read %q", got)
	}
}

func TestChoicesGoThroughEveryCombination(t *testing.T) {
	var c choices
	var seen []string
	for {
		var b bytes.Buffer
		if first := c.pick(2); first == 0 {
			fmt.Fprintf(&b, "0%d", c.pick(3))
		} else {
			fmt.Fprint(&b, "1")
		}
		seen = append(seen, b.String())
		if !c.next() {
			break
		}
	}
	if want := []string{"00", "01", "02", "1"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}
