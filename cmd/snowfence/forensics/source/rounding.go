package source

import (
	"fmt"
	"math/bits"
	"strconv"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// Rounding counts the ids of a source that look as if a program had kept them as a number that
// is too short. Then different ids can have become equal, and equal ids show nothing about the rows.
type Rounding struct {
	decimal lookalikes // by a spreadsheet
	double  lookalikes // by a double, which is written in whole or as JavaScript does
	cut     lookalikes // to the 52 bits that a double stores
}

// lookalikes are ids that can be rounded in one way: with more digits than the way keeps, so that
// chance rounds few of them. Alike look rounded; odd of them do not look rounded one digit further:
// ids that are made of round numbers lack odd ids.
type lookalikes struct{ long, alike, odd uint64 }

const (
	leastRounded = 8            // ids: fewer show nothing, as chance rounds up to one of four
	mostLooked   = 1e6          // ids of a source that are looked at
	almostAll    = 20           // one of 20 need not look rounded: rows can come from elsewhere
	digits       = 15           // that a spreadsheet keeps
	mantissa     = 53           // bits of a double
	stored       = 52           // of them, in its 64 bits: the highest is always set
	leastBits    = mantissa + 3 // of a number: at most one of four looks like a double by chance
)

// Add counts ids. The first million of a source suffice.
func (r *Rounding) Add(items []Item) {
	for _, item := range items {
		if r.decimal.long == mostLooked {
			return
		}
		id := uint64(item.ID)
		kept := lastKept(id)
		if width := bits.Len64(id); width >= leastBits {
			if unit := uint64(1) << (width - mantissa); id%unit == 0 {
				r.double.add(true, id%(2*unit) != 0)
			} else {
				r.double.add(printedByDouble(id), id%kept != 0)
			}
			unit := uint64(1) << (width - stored)
			r.cut.add(id%unit == 0, id%(2*unit) != 0)
		}
		if kept > 1 {
			r.decimal.add(id%kept == 0, id%(10*kept) != 0)
		}
	}
}

func (l *lookalikes) add(alike, odd bool) {
	l.long++
	if alike {
		l.alike++
		if odd {
			l.odd++
		}
	}
}

// lastKept is the value of the last digit that a spreadsheet keeps of a number.
func lastKept(id uint64) uint64 {
	unit := uint64(1)
	for id/unit >= 1e15 {
		unit *= 10
	}
	return unit
}

// printedByDouble reports whether a number is the shortest decimal of its double, as JavaScript prints it. Only
// numbers that end in 0 can be, and are asked.
func printedByDouble(id uint64) bool {
	return id%10 == 0 && strconv.FormatFloat(float64(id), 'f', -1, 64) == snowfence.ID(id).String()
}

// rounded reports whether ids were rounded in this way.
func (l lookalikes) rounded() bool {
	return l.alike >= leastRounded && (l.long-l.alike)*almostAll <= l.long && l.odd*leastRounded >= l.alike
}

// Text describes how the ids were rounded, with the numbers that show it, or is empty.
func (r *Rounding) Text() string {
	of := func(l lookalikes, way string) string {
		return fmt.Sprintf("%s of %s %s", text.Grouped(l.alike), text.Count(l.long, "long id"), way)
	}
	switch {
	case r.decimal.rounded():
		return of(r.decimal, fmt.Sprintf("have no more than %d digits before their zeros, which is all that a spreadsheet keeps", digits))
	case r.double.rounded():
		return of(r.double, fmt.Sprintf("are numbers that a double holds or JavaScript writes: %d bits", mantissa))
	case r.cut.rounded():
		return of(r.cut, fmt.Sprintf("have no more than %d bits before their zeros", stored))
	}
	return ""
}

// RoundedAdvice is the advice about ids that were rounded.
const RoundedAdvice = "these ids look rounded: the rows may be different records; do not delete any; " +
	"export the column as text from where the ids were made, and check again"
