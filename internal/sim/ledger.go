package sim

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"snowfence.example/snowfence"
)

// issuer is one source of ids: a generator, a borrower under one lease, or a process of an allocator
// that has neither.
type issuer struct {
	name     string
	node     int
	number   int32          // counts the issuers
	last     uint64         // the first slot above all that it issued
	highest  snowfence.Tick // the first tick above all that it issued
	reserved snowfence.Tick // above all ticks that its generator had reserved at the seal; zero before
	ledger   *ledger        // of its layout

	// For our generators, and for leases, where generator is nil:
	nonce     string
	worker    int64
	floor     snowfence.Tick
	before    *issuer // another one under the same term
	generator *snowfence.Generator
	sealed    bool
}

// ledger has every id that was issued under one layout: for each worker number the slots, a slot
// being a tick and a sequence side by side, as ranges in ascending order that do not overlap.
// Misfits have a ledger of their own: equal integers of two layouts mean different things, and the rule
// "layout" keeps the two out of one namespace.
type ledger struct {
	wide    snowfence.Layout // as a namespace's record has it
	layout  snowfence.Layout // without random bits, if it is wide: the fields that make an id unique
	name    string           // the layout as text, as the record has it
	columns map[int64][]span // by worker number

	// The first slot above all that were issued: before the present instant, and in all.
	now          time.Duration
	before, upTo uint64

	time, sequence, worker, datacenter part
}

// part is where a field stands in an id.
type part struct {
	shift, bits uint8
	mask        uint64 // of its bits, at the lowest place
}

func (p part) of(id snowfence.ID) uint64 { return uint64(id) >> (p.shift & 63) & p.mask }

// put is the inverse of of.
func (p part) put(value uint64) uint64 { return value << (p.shift & 63) }

// span is the slots in [low, high), which one issuer issued.
type span struct {
	low, high uint64
	by        *issuer
}

// repetition is slots that were issued before.
type repetition struct {
	slots  span
	before *issuer
}

func newLedger(wide snowfence.Layout) *ledger {
	l := wide
	if l.Wide {
		l.Wide = false
		l.Fields = slices.DeleteFunc(slices.Clone(l.Fields), func(f snowfence.Field) bool { return f.Kind > snowfence.Sequence })
	}
	at := func(kind snowfence.FieldKind) part {
		return part{uint8(l.Shift(kind)), uint8(l.Bits(kind)), 1<<l.Bits(kind) - 1}
	}
	return &ledger{
		wide: wide, layout: l, name: wide.String(), columns: make(map[int64][]span),
		time: at(snowfence.Time), sequence: at(snowfence.Sequence), worker: at(snowfence.Worker), datacenter: at(snowfence.Datacenter),
	}
}

// split takes an id apart.
func (l *ledger) split(id snowfence.ID) (worker int64, slot uint64) {
	worker = int64(l.datacenter.of(id)<<(l.worker.bits&63) | l.worker.of(id))
	return worker, l.time.of(id)<<(l.sequence.bits&63) | l.sequence.of(id)
}

// join puts an id together, without the checks of each id that the layout's own composition makes.
func (l *ledger) join(worker int64, tick snowfence.Tick, sequence int64) snowfence.ID {
	datacenter, number := uint64(worker)>>(l.worker.bits&63), uint64(worker)&l.worker.mask
	return snowfence.ID(l.time.put(uint64(tick)) | l.datacenter.put(datacenter) | l.worker.put(number) | l.sequence.put(uint64(sequence)))
}

// ranges calls yield for the fewest ranges that hold just the ids of a batch, in their order.
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

// check takes an id apart by the layout's own reading, which split must agree with.
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
	if number != worker || uint64(parts.Tick)<<l.sequence.bits|uint64(parts.Sequence) != slot {
		return fmt.Errorf("id %d is worker %d and slot %d here, and %+v by its layout", id, worker, slot, parts)
	}
	return nil
}

// tick returns the tick of a slot.
func (l *ledger) tick(slot uint64) snowfence.Tick { return snowfence.Tick(slot >> l.sequence.bits) }

// issue enters a range. It returns the slots that were there before, another issuer that shares ticks
// with it, and the last such tick.
func (l *ledger) issue(worker int64, s span) (repeated []repetition, shared *issuer, upTo snowfence.Tick) {
	spans := l.columns[worker]
	// The first range that ends above the beginning of s: most often s is above all ranges.
	i := len(spans)
	if i > 0 && spans[i-1].high > s.low {
		i = sort.Search(i, func(i int) bool { return spans[i].high > s.low })
	}
	for j := i - 1; j >= 0 && l.tick(spans[j].high-1) == l.tick(s.low); j-- {
		if spans[j].by != s.by {
			shared, upTo = spans[j].by, l.tick(s.low)
		}
	}
	for j := i; j < len(spans) && l.tick(spans[j].low) <= l.tick(s.high-1); j++ {
		if spans[j].by != s.by {
			shared, upTo = spans[j].by, l.tick(min(s.high, spans[j].high)-1)
		}
	}
	for s.low < s.high {
		next := span{s.high, s.high, nil} // the range that s meets next
		if i < len(spans) {
			next = spans[i]
		}
		end := min(s.high, next.low)
		if s.low < end {
			spans, i = insert(spans, i, span{s.low, end, s.by})
		} else {
			end = min(s.high, next.high)
			repeated = append(repeated, repetition{span{s.low, end, s.by}, next.by})
			i++
		}
		s.low = end
	}
	l.columns[worker] = spans
	return repeated, shared, upTo
}

// at notes that slots below high were issued now, and returns the first slot above all that were issued
// at earlier instants.
func (l *ledger) at(now time.Duration, high uint64) (before uint64) {
	if now > l.now {
		l.now, l.before = now, l.upTo
	}
	l.upTo = max(l.upTo, high)
	return l.before
}

// insert puts s before the i-th range, or joins it to the one before, and returns the
// index of the range after it.
func insert(spans []span, i int, s span) (_ []span, after int) {
	if i > 0 && spans[i-1].high == s.low && spans[i-1].by == s.by {
		spans[i-1].high = s.high
		return spans, i
	}
	return slices.Insert(spans, i, s), i + 1
}
