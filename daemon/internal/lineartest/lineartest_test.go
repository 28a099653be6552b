package lineartest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/internal/lineartest"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/memstore"
)

// everything is every fault at once.
var everything = faultstore.Rates{
	Before: 0.05, LostReply: 0.1, Late: 0.05, Stale: 0.2, Delay: 0.1, MaxDelay: time.Millisecond,
}

func TestSoundStoresAreLinearizable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	memory := memstore.New()
	for name, open := range map[string]func(context.Context) (store.Store, error){
		"memory": func(context.Context) (store.Store, error) { return memory.Client(), nil },
		"file":   func(ctx context.Context) (store.Store, error) { return filestore.Open(ctx, filestore.Config{Dir: dir}) },
	} {
		for _, rates := range []faultstore.Rates{{}, everything} {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("%s, %+v, seed %d", name, rates, seed), func(t *testing.T) {
					lineartest.Run(t, lineartest.Harness{Open: open, Rates: rates, Seed: seed})
				})
			}
		}
	}
}

// swapper swaps in a store.
type swapper func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error)

// broken is a client of a memory with a swap of its own.
type broken struct {
	store.Store
	swap swapper
}

func (b *broken) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	return b.swap(ctx, b.Store, key, prev, value)
}

func comparesNothing(ctx context.Context, s store.Store, key string, _ store.Version, value []byte) (store.Version, error) {
	for {
		e, err := s.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		version, err := s.Swap(ctx, key, e.Version, value)
		if !errors.Is(err, store.ErrConflict) {
			return version, err
		}
	}
}

// every returns a function that is true at every nth call.
func every(n int) func() bool {
	var mu sync.Mutex
	calls := 0
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return calls%n == 0
	}
}

// acknowledgesWithoutWriting forgets a swap now and then.
func acknowledgesWithoutWriting() swapper {
	forgets := every(20)
	return func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
		if forgets() {
			return store.Version("made up for " + string(value)), nil
		}
		return s.Swap(ctx, key, prev, value)
	}
}

// conflictsAfterWriting reports a conflict for a swap that took effect.
func conflictsAfterWriting() swapper {
	lies := every(20)
	return func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(ctx, key, prev, value)
		if err == nil && lies() {
			return "", store.ErrConflict
		}
		return version, err
	}
}

// again makes a swap whose reply was lost once more, in its own way.
func again(way swapper) swapper {
	return func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(ctx, key, prev, value)
		if errors.Is(err, faultstore.ErrInjected) {
			return way(ctx, s, key, prev, value)
		}
		return version, err
	}
}

// repeats swaps under the same version.
func repeats(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
	return s.Swap(ctx, key, prev, value)
}

// dirty shows the value of a coming swap to some of the reads that follow,
// even if the swap is then refused.
type dirty struct {
	store.Store
	pending *sync.Map   // value by key
	shows   func() bool // whether a read is one that does
}

func (d *dirty) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	d.pending.Store(key, string(value))
	return d.Store.Swap(ctx, key, prev, value)
}

func (d *dirty) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := d.Store.Get(ctx, key)
	if value, ok := d.pending.Load(key); ok && err == nil && d.shows() && value != string(e.Value) {
		e.Value, e.Version = []byte(value.(string)), store.Version("pending "+value.(string))
	}
	return e, err
}

// counting names versions by a number that comes round again.
type counting struct {
	store.Store
	mu    *sync.Mutex
	names map[store.Version]store.Version // the memory's, by ours and key
	ours  map[store.Version]store.Version
	next  *int
}

func (c *counting) name(key string, version store.Version) store.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, ok := c.ours[version]
	if !ok {
		*c.next++
		name = store.Version(fmt.Sprint(*c.next % 50))
		c.ours[version] = name
	}
	c.names[store.Version(key)+" "+name] = version
	return name
}

func (c *counting) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := c.Store.Get(ctx, key)
	if err == nil {
		e.Version = c.name(key, e.Version)
	}
	return e, err
}

func (c *counting) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if prev != "" {
		c.mu.Lock()
		prev = c.names[store.Version(key)+" "+prev]
		c.mu.Unlock()
	}
	version, err := c.Store.Swap(ctx, key, prev, value)
	if err == nil {
		version = c.name(key, version)
	}
	return version, err
}

func TestBrokenStoreIsNotLinearizable(t *testing.T) {
	lossy := faultstore.Rates{LostReply: 0.2}
	swaps := func(swap swapper) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &broken{s, swap} }
	}
	lost := func(s store.Store) store.Store {
		return faultstore.New(s, faultstore.Seeded(1, lossy), nil)
	}
	pending, shows := &sync.Map{}, every(5)
	versions := counting{mu: &sync.Mutex{}, names: map[store.Version]store.Version{}, ours: map[store.Version]store.Version{}, next: new(int)}
	tests := []struct {
		name   string
		wrap   func(store.Store) store.Store
		reason []string // one of them
	}{
		{"compares nothing", swaps(comparesNothing), []string{"no order"}},
		{"acknowledges without writing", swaps(acknowledgesWithoutWriting()), []string{"no order"}},
		{"shows refused swaps", func(s store.Store) store.Store { return &dirty{s, pending, shows} },
			[]string{"reported as a conflict", "it took effect twice"}},
		{"conflicts after it wrote", swaps(conflictsAfterWriting()), []string{"reported as a conflict"}},
		{"repeats lost swaps", func(s store.Store) store.Store { return &broken{lost(s), again(repeats)} },
			[]string{"reported as a conflict"}},
		{"rewrites lost swaps", func(s store.Store) store.Store { return &broken{lost(s), again(comparesNothing)} },
			[]string{"it took effect twice", "no order"}},
		{"reuses versions", func(s store.Store) store.Store { c := versions; c.Store = s; return &c },
			[]string{"which is that of", "it is that of"}},
	}
	for _, test := range tests {
		for _, rates := range []faultstore.Rates{{}, everything} {
			t.Run(fmt.Sprintf("%s, %+v", test.name, rates), func(t *testing.T) {
				memory := memstore.New()
				err := lineartest.Check(t.Context(), lineartest.Harness{
					Open:  func(context.Context) (store.Store, error) { return test.wrap(memory.Client()), nil },
					Rates: rates,
					Seed:  1,
				})
				if err == nil {
					t.Fatal("found to be linearizable")
				}
				if !slices.ContainsFunc(test.reason, func(reason string) bool { return strings.Contains(err.Error(), reason) }) {
					t.Errorf("not for one of the reasons %q:\n%v", test.reason, err)
				}
			})
		}
	}
}

func TestDisturbancesHappenWhileTheClientsWork(t *testing.T) {
	memory := memstore.New()
	counted := make(chan struct{}, 10000)
	var before []int
	look := func(context.Context) error {
		before = append(before, len(counted))
		return nil
	}
	count := func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
		counted <- struct{}{}
		return s.Swap(ctx, key, prev, value)
	}
	lineartest.Run(t, lineartest.Harness{
		Open: func(context.Context) (store.Store, error) { return &broken{memory.Client(), count}, nil },
		Disturbances: []lineartest.Disturbance{
			{Name: "first", Do: look}, {Name: "second", Do: look}, {Name: "third", Do: look},
		},
	})
	if len(before) != 3 || before[0] == 0 || before[0] == len(counted) {
		t.Errorf("disturbances after %v of %d swaps", before, len(counted))
	}
}

func TestFailureOfADisturbanceFailsTheRun(t *testing.T) {
	memory, failure := memstore.New(), errors.New("the server does not start")
	err := lineartest.Check(t.Context(), lineartest.Harness{
		Open:         func(context.Context) (store.Store, error) { return memory.Client(), nil },
		Disturbances: []lineartest.Disturbance{{Name: "restart", Do: func(context.Context) error { return failure }}},
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), "restart") {
		t.Errorf("error %v", err)
	}
}

func TestStoreThatDoesNotComeBackFailsTheRun(t *testing.T) {
	memory := memstore.New()
	gone := make(chan struct{})
	swap := func(ctx context.Context, s store.Store, key string, prev store.Version, value []byte) (store.Version, error) {
		select {
		case <-gone:
			return "", errors.New("no answer")
		default:
			return s.Swap(ctx, key, prev, value)
		}
	}
	err := lineartest.Check(t.Context(), lineartest.Harness{
		Open:         func(context.Context) (store.Store, error) { return &broken{memory.Client(), swap}, nil },
		Disturbances: []lineartest.Disturbance{{Name: "outage", Do: func(context.Context) error { close(gone); return nil }}},
		Timeout:      500 * time.Millisecond,
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
