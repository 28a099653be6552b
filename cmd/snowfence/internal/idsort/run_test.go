package idsort

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"snowfence.example/snowfence"
)

func TestPagesComeBackAsTheyWere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		items := make([]Item, 1+r.IntN(200))
		ids, places := r.IntN(65), r.IntN(65)
		for i := range items {
			items[i] = Item{ID: snowfence.ID(^uint64(0) >> (64 - ids) & r.Uint64()), At: ^uint64(0) >> (64 - places) & r.Uint64()}
		}
		slices.SortFunc(items, compare)
		data, got := appendPage(nil, items), make([]Item, len(items))
		if err := readPage(data, got); err != nil || !slices.Equal(got, items) {
			t.Fatalf("%v comes back as %v: %v", items, got, err)
		}
	}
}

func TestIDsInOrderTakeOneByteForTheirPlaces(t *testing.T) {
	items := make([]Item, 1000)
	for i := range items {
		items[i] = Item{ID: snowfence.ID(i * 100), At: uint64(i) + 1}
	}
	if n := len(appendPage(nil, items)); n > 2*len(items)+1 {
		t.Errorf("%d items take %d bytes", len(items), n)
	}
}

// FuzzReadPage holds that what is read as a page is written so again, unless a
// number was written longer than it needs.
func FuzzReadPage(f *testing.F) {
	f.Add(appendPage(nil, []Item{{ID: 1, At: 1}, {ID: 5, At: 9}}), 2)
	f.Add([]byte{128, 8, 0x88}, 1)
	f.Add(binary.AppendUvarint(nil, ^uint64(0)), 1)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		items := make([]Item, min(max(n, 0), 1000))
		if readPage(data, items) != nil {
			return
		}
		again := appendPage(nil, items)
		if len(again) > len(data) {
			t.Fatalf("%x is written as %x", data, again)
		}
		back := make([]Item, len(items))
		if err := readPage(again, back); err != nil || !slices.Equal(back, items) {
			t.Fatalf("%x: %v comes back as %v, %v", data, items, back, err)
		}
	})
}

func compare(a, b Item) int {
	return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.At, b.At))
}

func TestOrderIsThatOfIDsAndThenOfPositions(t *testing.T) {
	for name, shape := range shapes {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			n := 1 + r.IntN(3000)
			if seed == 0 {
				n = 1 << 16
			}
			var items []Item
			for i, id := range shape(r, n) {
				items = append(items, Item{ID: snowfence.ID(id), At: uint64(i)})
			}
			want := slices.Clone(items)
			slices.SortFunc(want, compare)
			if got := order(items, make([]Item, len(items))); !slices.Equal(got, want) {
				t.Fatalf("%s, seed %d: not in order", name, seed)
			}
		}
	}
}
