package sim

import (
	"fmt"
	"slices"
	"sort"

	"snowfence.example/snowfence"
)

// issuer is what issues ids at one time: a generator, or a process of an
// allocator that has none.
type issuer struct {
	name     string
	node     int
	site     Site
	number   int32          // counts the issuers
	last     uint64         // the first slot above all that it issued
	highest  snowfence.Tick // the first tick above all that it issued
	reserved snowfence.Tick // what its generator said when it was sealed; zero before
	ledger   *ledger        // of its layout

	// Of our generators:
	nonce     string
	worker    int64
	floor     snowfence.Tick
	before    *issuer // another one under the same term
	generator *snowfence.Generator
	sealed    bool
}

// ledger has every id that was issued under one layout: for each worker number the
// slots, a slot being a tick and a sequence side by side, as ranges in ascending
// order that do not overlap. Where there are misfits they have a ledger of their own:
// equal integers of two layouts mean different things, and that the two are never
// issued in one namespace is the rule "layout".
type ledger struct {
	layout  snowfence.Layout
	name    string            // the layout as text, as a namespace's record has it
	columns map[int64]*column // by worker number

	seqBits                         uint8
	timeShift, seqShift             uint8
	timeMask, seqMask               uint64
	workerShift, workerBits         uint8
	datacenterShift, datacenterBits uint8
}

// column is the ranges of one worker number.
type column struct{ spans []span }

// span is the slots in [low, high), which one issuer issued.
type span struct {
	low, high uint64
	by        *issuer
}

// repetition is slots that were issued before.
type repetition struct {
	worker int64
	slots  span
	before *issuer
}

func newLedger(l snowfence.Layout) *ledger {
	mask := func(kind snowfence.FieldKind) uint64 { return 1<<l.Bits(kind) - 1 }
	return &ledger{
		layout: l, name: l.String(), columns: make(map[int64]*column),
		seqBits: uint8(l.Bits(snowfence.Sequence)), timeShift: uint8(l.Shift(snowfence.Time)), seqShift: uint8(l.Shift(snowfence.Sequence)),
		timeMask: mask(snowfence.Time), seqMask: mask(snowfence.Sequence),
		workerShift: uint8(l.Shift(snowfence.Worker)), workerBits: uint8(l.Bits(snowfence.Worker)),
		datacenterShift: uint8(l.Shift(snowfence.Datacenter)), datacenterBits: uint8(l.Bits(snowfence.Datacenter)),
	}
}

// split takes an id apart.
func (l *ledger) split(id snowfence.ID) (worker int64, slot uint64) {
	slot = uint64(id)>>l.timeShift&l.timeMask<<l.seqBits | uint64(id)>>l.seqShift&l.seqMask
	worker = int64(uint64(id) >> l.workerShift & (1<<l.workerBits - 1))
	if l.datacenterBits > 0 {
		worker |= int64(uint64(id)>>l.datacenterShift&(1<<l.datacenterBits-1)) << l.workerBits
	}
	return worker, slot
}

// ranges turns a batch into the fewest ranges that hold just its ids, in their
// order, and calls yield for each.
func (l *ledger) ranges(ids []snowfence.ID, yield func(worker int64, low, high uint64)) {
	for len(ids) > 0 {
		worker, low := l.split(ids[0])
		n := 1
		for n < len(ids) {
			w, slot := l.split(ids[n])
			if w != worker || slot != low+uint64(n) {
				break
			}
			n++
		}
		yield(worker, low, low+uint64(n))
		ids = ids[n:]
	}
}

// check takes an id apart once more, by the layout's own reading, which split
// must agree with.
func (l *ledger) check(id snowfence.ID) error {
	parts, err := l.layout.Decompose(id)
	if err != nil {
		return err
	}
	worker, slot := l.split(id)
	number, err := l.layout.WorkerNumber(parts.Datacenter, parts.Worker)
	if err != nil {
		return err
	}
	if number != worker || uint64(parts.Tick)<<l.seqBits|uint64(parts.Sequence) != slot {
		return fmt.Errorf("id %d is worker %d and slot %d here, and %+v by its layout", id, worker, slot, parts)
	}
	return nil
}

// tick returns the tick of a slot.
func (l *ledger) tick(slot uint64) snowfence.Tick { return snowfence.Tick(slot >> l.seqBits) }

// issue enters a range and returns what of it was there before, and with whom
// it shares ticks, up to which one.
func (l *ledger) issue(worker int64, s span) (repeated []repetition, shared *issuer, upTo snowfence.Tick) {
	c := l.columns[worker]
	if c == nil {
		c = new(column)
		l.columns[worker] = c
	}
	i := len(c.spans)
	if i > 0 && c.spans[i-1].high > s.low {
		// The first range that ends above the beginning of s.
		i = sort.Search(i, func(i int) bool { return c.spans[i].high > s.low })
	}
	for j := i - 1; j >= 0 && l.tick(c.spans[j].high-1) == l.tick(s.low); j-- {
		if c.spans[j].by != s.by {
			shared, upTo = c.spans[j].by, l.tick(s.low)
		}
	}
	for j := i; j < len(c.spans) && l.tick(c.spans[j].low) <= l.tick(s.high-1); j++ {
		if c.spans[j].by != s.by {
			shared, upTo = c.spans[j].by, l.tick(min(s.high, c.spans[j].high)-1)
		}
	}
	for s.low < s.high {
		switch {
		case i == len(c.spans) || s.high <= c.spans[i].low:
			c.insert(i, s)
			s.low = s.high
		case s.low < c.spans[i].low:
			head := span{s.low, c.spans[i].low, s.by}
			s.low = c.spans[i].low
			i = c.insert(i, head)
		default:
			again := span{s.low, min(s.high, c.spans[i].high), s.by}
			repeated = append(repeated, repetition{worker, again, c.spans[i].by})
			s.low = again.high
			i++
		}
	}
	return repeated, shared, upTo
}

// insert puts s before the i-th range, or joins it to the one before, and
// returns the index of the range after it.
func (c *column) insert(i int, s span) int {
	if i > 0 && c.spans[i-1].high == s.low && c.spans[i-1].by == s.by {
		c.spans[i-1].high = s.high
		return i
	}
	c.spans = slices.Insert(c.spans, i, s)
	return i + 1
}
