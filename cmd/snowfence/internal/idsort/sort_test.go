package idsort

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/internal/text"
)

// sortLists sorts lists, compares with a sort in memory, and returns how much was
// put aside.
func sortLists(t *testing.T, about string, cfg Config, lists ...*list) uint64 {
	t.Helper()
	cfg.Temp = t.TempDir()
	var seen uint64
	cfg.See = func(_ int, items []Item) { seen += uint64(len(items)) }
	s, err := Sort(t.Context(), inputs(lists...), cfg)
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	type stand struct {
		id    uint64
		input int
		at    uint64
	}
	var want, got []stand
	for input, l := range lists {
		for _, x := range l.items {
			want = append(want, stand{key(x), input, x.At})
		}
	}
	slices.SortStableFunc(want, func(a, b stand) int { return compare(Item{ID: snowfence.ID(a.id)}, Item{ID: snowfence.ID(b.id)}) })
	err = s.Each(t.Context(), func(items []Item) error {
		for _, x := range items {
			input, at := s.Stand(x.At)
			got = append(got, stand{key(x), input, at})
		}
		return nil
	})
	if err != nil || seen != uint64(len(want)) || !slices.Equal(got, want) {
		t.Fatalf("%s: %d of %d were seen, and come in another order: %v", about, seen, len(want), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(cfg.Temp); err != nil || len(left) > 0 {
		t.Errorf("%s: left behind: %v (%v)", about, left, err)
	}
	return s.Spilled()
}

// TestEveryItemComesInOrderWithItsPlace sorts ids of every shape, with lines between
// that hold none: they are put aside, and merged several times over.
func TestEveryItemComesInOrderWithItsPlace(t *testing.T) {
	for name, shape := range shapes {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 1))
			var lists []*list
			for range 1 + r.IntN(3) {
				l := numbered("list", shape(r, 1+r.IntN(9000)))
				gap := uint64(0)
				for k := range l.items {
					gap += r.Uint64N(20) / 19 * r.Uint64N(1<<r.Uint64N(40))
					l.items[k].At += gap
				}
				lists = append(lists, l)
			}
			if seed%3 == 0 {
				lists = append(lists, numbered("nothing", nil), numbered("one", []uint64{7}))
			}
			sortLists(t, fmt.Sprint(name, ", seed ", seed), Config{Sizes: tiny}, lists...)
		}
	}
}

func TestLargerPiecesComeInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := fill(400_000, func(int) uint64 { return r.Uint64N(1<<24) << 30 })
	sortLists(t, "", Config{Sizes: Sizes{Chunk: 60_000, Page: 4096, Workers: 2, Room: 1 << 20, Fan: 100}}, numbered("a", ids))
}

// TestIDsThatAreAllAlikeTakeNoMoreMemory has ids that no split tells apart.
func TestIDsThatAreAllAlikeTakeNoMoreMemory(t *testing.T) {
	for name, id := range map[string]func(i int) uint64{
		"equal":                 func(int) uint64 { return 7 },
		"two":                   func(i int) uint64 { return uint64(i % 2) },
		"of the same high bits": func(i int) uint64 { return 1<<62 | uint64(i)*0x9e3779b1%5000 },
	} {
		s, err := Sort(t.Context(), inputs(numbered("a", fill(50_000, id))), Config{Temp: t.TempDir(), Sizes: tiny})
		if err != nil {
			t.Fatal(err)
		}
		largest, n := 0, 0
		err = s.Each(t.Context(), func(items []Item) error {
			largest, n = max(largest, len(items)), n+len(items)
			return nil
		})
		if most := tiny.Fan * tiny.Page; err != nil || n != 50_000 || largest > most || len(s.runs) > tiny.Fan {
			t.Errorf("%s: %d items came, %d at a time, at most %d: %v", name, n, largest, most, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatFitsIsNotPutAside(t *testing.T) {
	ids := fill(10_000, func(i int) uint64 { return uint64(i) << 22 })
	if n := sortLists(t, "memory", Config{}, numbered("a", ids)); n != 0 {
		t.Errorf("%d bytes were put aside", n)
	}
	if n := sortLists(t, "tiny", Config{Sizes: tiny}, numbered("a", ids)); n == 0 {
		t.Error("nothing was put aside")
	}
}

func TestSortEndsWithTheErrorOfItsSource(t *testing.T) {
	wrong := errors.New("wrong")
	broken := numbered("broken", []uint64{1, 2})
	broken.fail = wrong
	closed := []Input{{Open: func(context.Context) (idsource.Source, error) { return nil, wrong }}}
	for _, in := range [][]Input{inputs(broken), closed} {
		if s, err := Sort(t.Context(), in, Config{Temp: t.TempDir(), Sizes: tiny}); s != nil || !errors.Is(err, wrong) {
			t.Errorf("%v, %v", s, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sort(ctx, inputs(numbered("list", []uint64{1})), Config{Temp: t.TempDir(), Sizes: tiny}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestEachEndsWithTheErrorOfItsCaller(t *testing.T) {
	s, err := Sort(t.Context(), inputs(numbered("list", []uint64{1})), Config{Temp: t.TempDir(), Sizes: tiny})
	if err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	if err := s.Each(t.Context(), func([]Item) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	l := numbered("a", fill(50_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }))
	l.cause = func(read int) {
		if read > 30_000 {
			stop()
		}
	}
	if _, err := Sort(ctx, inputs(l), Config{Temp: dir, Sizes: tiny}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFileHasNoNameWhileItIsUsed(t *testing.T) {
	dir := t.TempDir()
	f, err := folder{dir}.create()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("has a name: %v", left)
	}
	if _, err := f.WriteAt([]byte("x"), 10); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (folder{dir + "/none"}).create(); err == nil {
		t.Error("a folder that is missing is no error")
	}
}

func TestMemoryHasALeast(t *testing.T) {
	_, err := Sort(t.Context(), nil, Config{Memory: LeastMemory - 1})
	if err == nil || !strings.Contains(err.Error(), "at least 64.0 MiB") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatIsAllocatedFitsTheMemory(t *testing.T) {
	for _, memory := range []int64{LeastMemory, 256 << 20, DefaultMemory, 8 << 30} {
		for _, processors := range []int{1, 2, 4, 64} {
			s := sizesOf(memory, processors)
			reading := int64(2*s.Chunk*itemBytes)*int64(s.Workers+1) + s.Room
			merging := int64(3*s.Fan*s.Page*itemBytes) + s.Room
			if reading+ownMemory > memory || merging+ownMemory > memory || s.Fan < 8 || s.Chunk < 1<<14 {
				t.Errorf("%s on %d: %+v: %d and %d", text.Bytes(uint64(memory)), processors, s, reading, merging)
			}
		}
	}
}
