package snowfence

import (
	"fmt"
	"time"
)

// Limits of a layout.
const (
	minUnit = time.Microsecond
	maxUnit = time.Hour

	maxBits         = 63
	maxBitsUnsigned = 64
	maxBitsWide     = 128

	// The epoch's range, in Unix seconds: the years 1900 to 2199. It holds
	// every system known and no instant in the wrong unit.
	minEpoch = -2208988800
	maxEpoch = 7258118400 // exclusive
)

// ErrInvalidLayout is what every *[LayoutError] and *[LayoutSyntaxError] wraps.
var ErrInvalidLayout = NewError(ClassUsage, "snowfence: invalid layout")

// LayoutError says which part of a [Layout] can't be as it is. It wraps
// [ErrInvalidLayout].
type LayoutError struct {
	// Field is the part at fault: unit, epoch, total, unsigned, or a field's
	// word.
	Field string
	// Value is what it is.
	Value string
	// Limit is what it may be.
	Limit string
	// Reason says why, where the limit does not speak for itself.
	Reason string
}

// Error names the part, its value, the limit and the reason.
func (e *LayoutError) Error() string {
	s := fmt.Sprintf("%v: %s is %s, must be %s", ErrInvalidLayout, e.Field, e.Value, e.Limit)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns [ErrInvalidLayout].
func (e *LayoutError) Unwrap() error { return ErrInvalidLayout }

// Validate returns nil for a valid layout. A *[LayoutError] is returned for the first part
// outside its limits: those of the fields of Layout, and that the last tick is within 2^62
// seconds of the epoch.
func (l Layout) Validate() error {
	if err := l.validateFields(); err != nil {
		return err
	}
	if total := l.TotalBits(); l.Wide {
		if err := l.validateWide(total); err != nil {
			return err
		}
	} else if l.Unsigned {
		switch {
		case total != maxBitsUnsigned:
			return &LayoutError{"total", countBits(total), "64 bits", "unsigned layouts use exactly 64"}
		case l.Fields[0].Kind != Time:
			return &LayoutError{"unsigned", "set with " + l.Fields[0].Word() + " highest", "unset", "only the time can stop short of the 64th bit"}
		}
	} else if total > maxBits {
		return &LayoutError{"total", countBits(total), "at most 63 bits", "the 64th bit is the sign"}
	}
	if l.Unit < minUnit || l.Unit > maxUnit || l.Unit%time.Microsecond != 0 {
		return &LayoutError{"unit", l.Unit.String(), "whole microseconds from 1µs to 1h", ""}
	}
	if s := l.Epoch.Unix(); s < minEpoch || s >= maxEpoch || l.Epoch.Nanosecond()%int(time.Millisecond) != 0 {
		return &LayoutError{"epoch", l.Epoch.UTC().Format(time.RFC3339Nano), "whole milliseconds in the years 1900 to 2199", ""}
	}
	if last := l.TimeOf(Tick(count(l.Bits(Time)))); last.Unix()-l.Epoch.Unix() >= maxReach {
		return &LayoutError{"time", countBits(l.Bits(Time)) + " of " + l.Unit.String(), "at most 2^62 seconds", ""}
	}
	return nil
}

// validateFields checks the fields by themselves: kinds, widths and order.
func (l Layout) validateFields() error {
	var seen [Random + 1]bool
	for i, f := range l.Fields {
		switch {
		case f.Kind < Time || f.Kind > Random || f.Kind > Sequence && !l.Wide:
			return &LayoutError{fmt.Sprintf("fields[%d]", i), f.Kind.String(), l.kinds(), ""}
		case seen[f.Kind]:
			return &LayoutError{f.Word(), "given twice", "given once", "it is a second " + f.Kind.String()}
		case f.Bits < 1:
			return &LayoutError{f.Word(), countBits(f.Bits), "at least 1 bit", ""}
		case f.Bits > maxBits:
			return &LayoutError{f.Word(), countBits(f.Bits), "at most 63 bits", ""}
		case f.Kind == Time && seen[Sequence]:
			return &LayoutError{"sequence", "above the time", "below it", "ids would not increase"}
		case f.Kind == Sequence && seen[Random]:
			return &LayoutError{f.Word(), "below the random bits", "above them", "ids would not increase"}
		}
		seen[f.Kind] = true
	}
	for _, kind := range [...]FieldKind{Time, Sequence} {
		if !seen[kind] {
			return &LayoutError{kind.String(), "missing", "given", ""}
		}
	}
	return nil
}

// kinds are the kinds of fields that the layout can have.
func (l Layout) kinds() string {
	if l.Wide {
		return "time, datacenter, worker, sequence, version, variant or random"
	}
	return "time, datacenter, worker or sequence"
}

func countBits(n int) string {
	if n == 1 {
		return "1 bit"
	}
	return fmt.Sprintf("%d bits", n)
}
