package check

import (
	"math/bits"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// item is an id and its position: a number that only grows in the order of
// reading, across all sources.
type item = idsource.Item

// key is what items are ordered by: ids of 64 bits order without a sign.
func key(i item) uint64 { return uint64(i.ID) }

const (
	// smallSort is up to how many items insertion is fastest.
	smallSort = 24
	// cacheSort is how many items, twice, the processor's own memory holds.
	cacheSort = 1 << 14
	// lateAfter is how many items in a row must come late until the one before
	// them is taken for early instead.
	lateAfter = 8
)

// order sorts items by id, and equal ids by position. They must come by
// position. spare is as long as items.
func order(items, spare []item) {
	descents := 0
	for i := 1; i < len(items); i++ {
		if key(items[i]) < key(items[i-1]) {
			descents++
		}
	}
	switch {
	case descents == 0:
	case descents <= len(items)/16:
		orderLate(items, spare)
	default:
		radix(items, spare, false)
	}
}

// orderLate sorts items of which few are out of order: those are taken out,
// sorted, and merged with the rest.
func orderLate(items, spare []item) {
	kept, late, row := 0, 0, 0
	for _, x := range items {
		switch {
		case kept == 0 || key(x) >= key(items[kept-1]):
			row = 0
		case kept > 1 && key(x) >= key(items[kept-2]):
			// The one before was early, not this one late.
			kept--
			spare[late] = items[kept]
			late++
			row = 0
		case row < lateAfter:
			spare[late] = x
			late++
			row++
			continue
		default:
			for kept > 0 && key(x) < key(items[kept-1]) {
				kept--
				spare[late] = items[kept]
				late++
			}
			row = 0
		}
		items[kept] = x
		kept++
	}
	// kept and late are all items together, so behind the kept ones is room for
	// the late ones.
	radix(spare[:late], items[kept:], false)
	for to := len(items) - 1; late > 0; to-- {
		if kept > 0 && less(spare[late-1], items[kept-1]) {
			kept--
			items[to] = items[kept]
		} else {
			late--
			items[to] = spare[late]
		}
	}
	// Early ones were put behind late ones of the same id.
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].ID == items[from].ID {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(items[from:to], byPosition)
		}
		from = to
	}
}

func less(a, b item) bool { return key(a) < key(b) || a.ID == b.ID && a.At < b.At }

func byPosition(a, b item) int {
	if a.At < b.At {
		return -1
	}
	return 1
}

// radix sorts items by id, and leaves equal ids in their order. The result is in
// spare if there is true, else in items; spare is as long as items.
//
// Many items are spread by the highest bits in which they differ, until what is
// left fits the cache; those are sorted from the lowest bits up.
func radix(items, spare []item, there bool) {
	if len(items) <= smallSort {
		insert(items)
		if there {
			copy(spare, items)
		}
		return
	}
	var differ uint64
	for _, x := range items {
		differ |= key(x) ^ key(items[0])
	}
	if len(items) > cacheSort && differ != 0 {
		shift := max(0, bits.Len64(differ)-8)
		ends := spread(items, spare, shift)
		from := 0
		for _, to := range ends {
			radix(spare[from:to], items[from:to], !there)
			from = to
		}
		return
	}
	in := false // whether the items are in spare
	for shift := 0; differ>>shift != 0; shift += 8 {
		shift += bits.TrailingZeros64(differ >> shift)
		spread(items, spare, shift)
		items, spare, in = spare, items, !in
	}
	if in != there {
		copy(spare, items)
	}
}

// spread puts items into other in the order of eight bits, and returns where the
// items of each value end.
func spread(items, other []item, shift int) [256]int {
	var ends [256]int
	for _, x := range items {
		ends[uint8(key(x)>>shift)]++
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	for _, x := range items {
		digit := uint8(key(x) >> shift)
		other[ends[digit]] = x
		ends[digit]++
	}
	return ends
}

// insert sorts few items.
func insert(items []item) {
	for i := 1; i < len(items); i++ {
		x := items[i]
		j := i
		for ; j > 0 && key(items[j-1]) > key(x); j-- {
			items[j] = items[j-1]
		}
		items[j] = x
	}
}
