package check

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"snowfence.example/snowfence"
)

// A page is a piece of a run as it is stored, in blocks:
//
//	count     1 byte, from 1 to blockItems
//	id width  1 byte, 0 to 8: the bytes of a difference
//	at width  1 byte, 0 to 8: the bytes of a position, and offsets if they count
//	          from base; else each counts from what would follow the one before
//	first id  8 bytes
//	base      8 bytes
//	ids       from the second on, each as its difference to the one before
//	places    from the first on
//
// Ids that rise in the order of reading cost nothing for their positions. Behind
// the last block stand slack bytes, so that eight can be read anywhere.
const (
	blockItems  = 128
	blockHeader = 3 + 8 + 8
	offsets     = 0x80
	slack       = 8
	maxBlock    = blockHeader + blockItems*16
)

// errPage is returned for a page that is damaged.
var errPage = errors.New("what was put aside came back damaged")

// appendBlock appends items, at most blockItems and in order, without slack. dst
// must have room for maxBlock and slack.
func appendBlock(dst []byte, items []item) []byte {
	lowest := items[0].At
	var ids, steps, distances uint64
	for i := 1; i < len(items); i++ {
		lowest = min(lowest, items[i].At)
		ids |= key(items[i]) - key(items[i-1])
		steps |= zigzag(items[i].At - items[i-1].At - 1)
	}
	for _, x := range items {
		distances |= x.At - lowest
	}
	idWidth, atWidth, base, mode := bytesOf(ids), bytesOf(steps), items[0].At-1, 0
	if w := bytesOf(distances); w < atWidth {
		atWidth, base, mode = w, lowest, offsets
	}
	dst = append(dst, byte(len(items)), byte(idWidth), byte(atWidth|mode))
	dst = binary.LittleEndian.AppendUint64(dst, key(items[0]))
	dst = binary.LittleEndian.AppendUint64(dst, base)
	at := len(dst)
	dst = dst[:cap(dst)]
	for i := 1; i < len(items); i++ {
		binary.LittleEndian.PutUint64(dst[at:], key(items[i])-key(items[i-1]))
		at += idWidth
	}
	before := base
	for _, x := range items {
		if mode == offsets {
			binary.LittleEndian.PutUint64(dst[at:], x.At-base)
		} else {
			binary.LittleEndian.PutUint64(dst[at:], zigzag(x.At-before-1))
			before = x.At
		}
		at += atWidth
	}
	return dst[:at]
}

// readBlock reads the block at the beginning of a page that has its slack. It
// returns the rest of the page. items has room for blockItems.
func readBlock(page []byte, items []item) (n int, rest []byte, err error) {
	if len(page) < blockHeader+slack {
		return 0, nil, errPage
	}
	n, idWidth, atWidth, mode := int(page[0]), int(page[1]), int(page[2]&^offsets), page[2]&offsets
	if n == 0 || n > blockItems || idWidth > 8 || atWidth > 8 {
		return 0, nil, errPage
	}
	first, base := binary.LittleEndian.Uint64(page[3:]), binary.LittleEndian.Uint64(page[11:])
	ids := page[blockHeader:]
	length := (n-1)*idWidth + n*atWidth
	if len(ids) < length+slack {
		return 0, nil, errPage
	}
	places := ids[(n-1)*idWidth:]
	idMask, atMask := maskOf(idWidth), maskOf(atWidth)
	items = items[:n]
	id := first
	items[0].ID = snowfence.ID(id)
	for i := 1; i < len(items); i++ {
		id += binary.LittleEndian.Uint64(ids[(i-1)*idWidth:]) & idMask
		items[i].ID = snowfence.ID(id)
	}
	switch {
	case mode == offsets:
		for i := range items {
			items[i].At = base + binary.LittleEndian.Uint64(places[i*atWidth:])&atMask
		}
	case atWidth == 0:
		for i := range items {
			items[i].At = base + uint64(i) + 1
		}
	default:
		at := base
		for i := range items {
			at += unzigzag(binary.LittleEndian.Uint64(places[i*atWidth:])&atMask) + 1
			items[i].At = at
		}
	}
	return n, ids[length:], nil
}

// zigzag puts the sign of a number lowest, so that small ones stay short.
func zigzag(n uint64) uint64 { return n<<1 ^ uint64(int64(n)>>63) }

func unzigzag(n uint64) uint64 { return n>>1 ^ -(n & 1) }

// bytesOf is how many bytes a number takes.
func bytesOf(n uint64) int { return (bits.Len64(n) + 7) / 8 }

// maskOf is a number of so many bytes with every bit set.
func maskOf(width int) uint64 {
	if width == 0 {
		return 0
	}
	return ^uint64(0) >> (64 - 8*width)
}
