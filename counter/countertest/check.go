package countertest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Drawn is one number, and when its call began and ended.
type Drawn struct {
	Number     int64
	Begun, End time.Duration
}

// Distinct returns an error if a number was drawn twice.
func Distinct[N cmp.Ordered](numbers []N) error {
	sorted := slices.Sorted(slices.Values(numbers))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("%v was drawn twice, among %d", sorted[i], len(sorted))
		}
	}
	return nil
}

// Order returns an error if a number was drawn twice, or if a call that began after another one had ended drew a lesser
// number.
func Order(drawn []Drawn) error {
	numbers := make([]int64, len(drawn))
	for i, call := range drawn {
		numbers[i] = call.Number
	}
	if err := Distinct(numbers); err != nil {
		return err
	}
	begun := slices.SortedFunc(slices.Values(drawn), func(a, b Drawn) int { return cmp.Compare(a.Begun, b.Begun) })
	ended := slices.SortedFunc(slices.Values(drawn), func(a, b Drawn) int { return cmp.Compare(a.End, b.End) })
	greatest := Drawn{Number: -1}
	for _, call := range begun {
		for len(ended) > 0 && ended[0].End < call.Begun {
			if ended[0].Number > greatest.Number {
				greatest = ended[0]
			}
			ended = ended[1:]
		}
		if call.Number <= greatest.Number {
			return fmt.Errorf("%d was drawn from %s on, after %d at %s", call.Number, call.Begun, greatest.Number, greatest.End)
		}
	}
	return nil
}
