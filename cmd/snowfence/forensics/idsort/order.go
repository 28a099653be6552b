package idsort

import "math/bits"

// chunk is room for items that are sorted together.
type chunk struct{ items, spare []Item }

// digit is how many bits are sorted at a time: their counts fit the processor's memory.
const digit = 11

// sort orders the items by id as an unsigned number, and leaves equal ids in their order.
// It sorts by some bits at a time, and leaves out bits in which all ids agree.
func (c *chunk) sort() []Item {
	rising, differ, last := true, uint64(0), uint64(0)
	for _, x := range c.items {
		id := uint64(x.ID)
		rising = rising && id >= last
		differ |= id ^ uint64(c.items[0].ID)
		last = id
	}
	if rising {
		return c.items
	}
	if cap(c.spare) < len(c.items) {
		c.spare = make([]Item, cap(c.items))
	}
	items, spare := c.items, c.spare[:len(c.items)]
	for shift := 0; differ>>shift != 0; shift += digit {
		shift += bits.TrailingZeros64(differ >> shift)
		spread(items, spare, shift)
		items, spare = spare, items
	}
	return items
}

// spread puts items into other, in the order of some bits of their ids.
func spread(items, other []Item, shift int) {
	var ends [1 << digit]uint32
	for _, x := range items {
		ends[uint64(x.ID)>>shift&(1<<digit-1)]++
	}
	sum := uint32(0)
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	for _, x := range items {
		d := uint64(x.ID) >> shift & (1<<digit - 1)
		other[ends[d]] = x
		ends[d]++
	}
}
