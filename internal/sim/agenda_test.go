package sim

import (
	"slices"
	"testing"
)

func TestAgendaIsSoonestFirstAndTiesStandInTheirOrder(t *testing.T) {
	var a Agenda
	var got []int
	note := func(i int) func() { return func() { got = append(got, i) } }
	a.After(3, note(5))
	a.After(1, note(1))
	a.After(2, func() { note(3)(); a.After(0, note(4)) })
	a.After(1, note(2))
	a.After(-1, note(0))
	for a.Proceed() {
	}
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) || a.Now() != 3 || a.Len() != 0 {
		t.Errorf("they came in the order %v and ended at %s", got, a.Now())
	}
	a.After(5, func() {})
	if a.Skip(7); a.Now() != 7 {
		t.Errorf("it is %s, want 7ns", a.Now())
	}
	if a.Skip(9); a.Now() != 7 {
		t.Errorf("time passed what is due at 8ns: it is %s", a.Now())
	}
	if at, ok := a.Next(); !ok || at != 8 {
		t.Errorf("next at %s, %t", at, ok)
	}
}
