package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Range is numbers that follow one another, both ends included.
type Range struct{ First, Last int64 }

// String returns "7", or "0-3" where there are several.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.FormatInt(r.First, 10)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// RangeError is returned for a part of a list that is no range.
type RangeError struct{ Part, Limit string }

// Error names the part and its limit.
func (e *RangeError) Error() string { return strconv.Quote(e.Part) + ": " + e.Limit }

// ParseRanges reads numbers and ranges of numbers, such as 0-31,40, and returns them
// sorted, and joined where they touch or overlap. A *[RangeError] is returned for a part that is neither, and for a range
// that goes down.
func ParseRanges(text string) ([]Range, error) {
	var ranges []Range
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 62)
		last, lastErr := strconv.ParseUint(high, 10, 62)
		switch {
		case err != nil || lastErr != nil:
			return nil, &RangeError{part, "must be numbers and ranges such as 0-3,8"}
		case last < first:
			return nil, &RangeError{part, "a range must not go down"}
		}
		ranges = append(ranges, Range{int64(first), int64(last)})
	}
	return join(ranges), nil
}

// join sorts ranges, in place, and joins ranges that touch or overlap.
func join(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	joined := ranges[:0]
	for _, r := range ranges {
		if n := len(joined); n > 0 && r.First <= joined[n-1].Last+1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// List writes the first few things of a list, such as ranges, and counts the others:
// "0-3, 8, and 2 more". An empty list is "none".
func List[T any](things []T, most int) string {
	if len(things) == 0 {
		return "none"
	}
	parts := make([]string, 0, most+1)
	for _, t := range things[:min(len(things), most)] {
		parts = append(parts, fmt.Sprint(t))
	}
	if more := len(things) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
