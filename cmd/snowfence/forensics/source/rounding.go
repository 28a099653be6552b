package source

import (
	"fmt"
	"math/bits"
	"strconv"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// Rounding counts how many ids of a source look as if a program had kept them as a number that is too short. Then ids that
// were different can be equal, and say nothing of the rows.
type Rounding struct {
	decimal, double, printed lookalikes // by a spreadsheet; by a double that is written in whole; by one that JavaScript writes
}

// lookalikes are ids that can be rounded in one way.
type lookalikes struct {
	long  uint64 // that have more digits than the way keeps, so that most don't look rounded by chance
	alike uint64 // that look rounded
	odd   uint64 // that do not look rounded further: some must be there, or the ids are made of round numbers
}

const (
	// leastRounded is how many ids tell at least. By chance one of four at most looks rounded.
	leastRounded = 8
	mostLooked   = 1e6
	// almostAll is what part may not look rounded: a twentieth. Rows can come from elsewhere.
	almostAll = 20
	// digits is how many a spreadsheet keeps, and mantissa how many bits a double has.
	digits, mantissa = 15, 53
	// leastBits is from where at most one of four numbers looks like a double.
	leastBits = mantissa + 3
)

// Add counts ids. The first million of a source tell.
func (r *Rounding) Add(items []Item) {
	for _, item := range items {
		if r.decimal.long == mostLooked {
			return
		}
		id := uint64(item.ID)
		kept := lastKept(id)
		if width := bits.Len64(id); width >= leastBits {
			unit := uint64(1) << (width - mantissa)
			r.double.add(id%unit == 0, id%(2*unit) != 0)
			r.printed.add(printedByDouble(id), id%kept != 0)
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
	unit, most := uint64(1), uint64(1e15)
	for id/unit >= most {
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

// Text says how the ids were rounded, with the numbers that show it, or is empty.
func (r *Rounding) Text() string {
	of := func(l lookalikes) string {
		return fmt.Sprintf("%s of %s", text.Grouped(l.alike), text.Count(l.long, "long id"))
	}
	switch {
	case r.decimal.rounded():
		return fmt.Sprintf("%s have no more than %d digits before their zeros, which is all that a spreadsheet keeps", of(r.decimal), digits)
	case r.double.rounded():
		return fmt.Sprintf("%s are numbers that a double holds: %d bits, as JavaScript and JSON tools keep them", of(r.double), mantissa)
	case r.printed.rounded():
		return fmt.Sprintf("%s are written as JavaScript writes a double: %d bits", of(r.printed), mantissa)
	}
	return ""
}

// RoundedAdvice is what to do about ids that were rounded.
const RoundedAdvice = "these ids look rounded: the rows may be different records; do not delete any; export the column as text from where the ids were made, and check again"
