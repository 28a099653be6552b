package idsort

import "math/bits"

// key is what ids are ordered by: those of 64 bits order without a sign.
func key(i Item) uint64 { return uint64(i.ID) }

// less orders items by id and then by position. No two are equal.
func less(a, b Item) bool { return key(a) < key(b) || a.ID == b.ID && a.At < b.At }

// rising reports whether no id is lower than the one before.
func rising(items []Item) bool {
	for i := 1; i < len(items); i++ {
		if key(items[i]) < key(items[i-1]) {
			return false
		}
	}
	return true
}

// order sorts items by id, and leaves equal ids in their order. It returns either
// items or the beginning of spare, which is as long.
func order(items, spare []Item) []Item {
	var differ uint64
	for _, x := range items {
		differ |= key(x) ^ key(items[0])
	}
	spare = spare[:len(items)]
	for shift := 0; differ>>shift != 0; shift += 8 {
		shift += bits.TrailingZeros64(differ >> shift)
		spread(items, spare, shift)
		items, spare = spare, items
	}
	return items
}

// spread puts items into other, in the order of eight bits of their ids.
func spread(items, other []Item, shift int) {
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
}
