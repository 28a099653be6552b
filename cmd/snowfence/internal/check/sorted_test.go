package check

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// TestSortedHandsOutEveryItemInOrderWithItsPlace puts aside and merges several
// times over, and compares with a sort in memory.
func TestSortedHandsOutEveryItemInOrderWithItsPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	type place struct {
		id    uint64
		input int
		at    uint64
	}
	var lists []*list
	want := map[place]bool{}
	for input, n := range []int{3000, 0, 5000, 1} {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = random.Uint64N(2000) << (61 * random.IntN(2)) // some with the 64th bit
			want[place{ids[i], input, uint64(i) + 1}] = true
		}
		lists = append(lists, numbered("list", ids))
	}
	temp := t.TempDir()
	s, err := Sort(t.Context(), inputs(lists...), Config{Now: now, Temp: temp, sizes: tiny})
	if err != nil {
		t.Fatal(err)
	}
	var before item
	n := 0
	err = s.Each(t.Context(), func(items []idsource.Item) error {
		for _, x := range items {
			if n > 0 && (key(x) < key(before) || key(x) == key(before) && x.At <= before.At) {
				t.Fatalf("%v comes after %v", x, before)
			}
			input, at := s.Stand(x.At)
			if p := (place{key(x), input, at}); !want[p] {
				t.Fatalf("%+v was not there, or came twice", p)
			} else {
				delete(want, p)
			}
			before = x
			n++
		}
		return nil
	})
	if err != nil || len(want) != 0 || n != 8001 {
		t.Errorf("%d came, %d did not: %v", n, len(want), err)
	}
	if s.c.shelf.written == 0 {
		t.Error("nothing was put aside: the test is of no use")
	}
	// What emit returns ends it.
	wrong := errors.New("wrong")
	if err := s.Each(t.Context(), func([]idsource.Item) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestSortEndsWithTheErrorOfItsSource(t *testing.T) {
	wrong := errors.New("wrong")
	broken := numbered("broken", []uint64{1, 2})
	broken.fail = wrong
	if s, err := Sort(t.Context(), inputs(broken), Config{Now: now, Temp: t.TempDir(), sizes: tiny}); s != nil || !errors.Is(err, wrong) {
		t.Errorf("%v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sort(ctx, inputs(numbered("list", []uint64{1})), Config{Now: now, Temp: t.TempDir(), sizes: tiny}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Sort(t.Context(), nil, Config{Memory: 1}); err == nil {
		t.Error("one byte of memory is enough")
	}
}
