package snowfence

import (
	"errors"
	"fmt"
	"testing"
)

func TestEveryClassHasItsWord(t *testing.T) {
	if got := fmt.Sprint(ClassUnknown, ClassFinal, ClassUnavailable, ClassLease, ClassClock, ClassInvalidID, ClassUsage, Class(9)); got != "unknown final unavailable lease clock invalid id usage Class(9)" {
		t.Error(got)
	}
}

func TestClassOfAnErrorIsTheLastOfThoseThatItWraps(t *testing.T) {
	busy := NewError(ClassUnavailable, "busy")
	for _, x := range []struct {
		err  error
		want Class
	}{
		{nil, ClassUnknown},
		{errors.New("anything"), ClassUnknown},
		{busy, ClassUnavailable},
		{fmt.Errorf("some verb: %w", busy), ClassUnavailable},
		{errors.Join(busy, ErrClockBehind, ErrRevoked), ClassClock},
		{fmt.Errorf("%w: %w", busy, fmt.Errorf("deeper: %w", ErrWindowEnded)), ClassLease},
		{&WaitError{Reason: ErrSaturated}, ClassUnavailable},
		{&WaitError{Reason: ErrClockBehind}, ClassClock},
		{&IDError{}, ClassInvalidID},
		{&LayoutError{}, ClassUsage},
		{&PolicyError{}, ClassUsage},
	} {
		if got := ClassOf(x.err); got != x.want {
			t.Errorf("%v: class %d, want %d", x.err, got, x.want)
		}
	}
}

func TestErrorsOfOneTextAreDistinct(t *testing.T) {
	if errors.Is(NewError(ClassFinal, "gone"), NewError(ClassFinal, "gone")) {
		t.Error("two errors with one text are the same")
	}
}
