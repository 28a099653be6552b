package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"snowfence.example/snowfence"
)

// reread writes and reads items of up to a block.
func reread(t *testing.T, items []item) {
	t.Helper()
	page := append(appendBlock(make([]byte, 0, maxBlock+slack), items), make([]byte, slack)...)
	got := make([]item, blockItems)
	n, rest, err := readBlock(page, got)
	if err != nil || len(rest) != slack || !slices.Equal(got[:n], items) {
		t.Fatalf("%v comes back as %v, %d bytes left, %v", items, got[:n], len(rest), err)
	}
}

func TestBlocksComeBackAsTheyWere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		items := make([]item, 1+r.IntN(blockItems))
		ids, places := r.IntN(65), r.IntN(65)
		for i := range items {
			items[i] = item{ID: snowfence.ID(^uint64(0) >> (64 - ids) & r.Uint64()), At: ^uint64(0) >> (64 - places) & r.Uint64()}
		}
		slices.SortFunc(items, func(a, b item) int {
			if less(a, b) {
				return -1
			}
			return 1
		})
		reread(t, items)
	}
}

func TestIDsInOrderTakeNoRoomForTheirPlaces(t *testing.T) {
	items := make([]item, blockItems)
	for i := range items {
		items[i] = item{ID: snowfence.ID(i * 200), At: uint64(i) + 1e9}
	}
	reread(t, items)
	if n := len(appendBlock(make([]byte, 0, maxBlock+slack), items)); n != blockHeader+blockItems-1 {
		t.Errorf("%d items take %d bytes", blockItems, n)
	}
}

func FuzzReadBlock(f *testing.F) {
	f.Add(append(appendBlock(make([]byte, 0, maxBlock+slack), []item{{ID: 1, At: 1}, {ID: 5, At: 9}}), make([]byte, slack)...))
	f.Add([]byte{128, 8, 0x88})
	f.Fuzz(func(t *testing.T, page []byte) {
		items := make([]item, blockItems)
		for len(page) > 0 {
			n, rest, err := readBlock(page, items)
			if err != nil {
				return
			}
			if n < 1 || n > blockItems || len(rest) >= len(page) {
				t.Fatalf("%d items, %d of %d bytes left", n, len(rest), len(page))
			}
			page = rest
		}
	})
}

func TestOrderIsThatOfIDsAndThenOfPositions(t *testing.T) {
	for name, shape := range shapes {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			n := 1 + r.IntN(3000)
			if seed == 0 {
				n = 4 * cacheSort
			}
			var items []item
			for i, id := range shape(r, n) {
				items = append(items, item{ID: snowfence.ID(id), At: uint64(i)})
			}
			want := slices.Clone(items)
			slices.SortStableFunc(want, func(a, b item) int {
				switch {
				case key(a) < key(b):
					return -1
				case key(a) > key(b):
					return 1
				}
				return 0
			})
			for how, sort := range map[string]func(items, spare []item){
				"order": order, "late": orderLate, "radix": func(items, spare []item) { radix(items, spare, false) },
			} {
				got := slices.Clone(items)
				if sort(got, make([]item, len(got))); !slices.Equal(got, want) {
					t.Fatalf("%s, seed %d, %s: not in order", name, seed, how)
				}
			}
		}
	}
}
