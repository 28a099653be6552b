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
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) || a.Now() != 3 || len(a.entries) != 0 {
		t.Errorf("they came in the order %v and ended at %s", got, a.Now())
	}
	a.After(5, note(6))
	a.After(5, note(7))
	if a.Until(7, func() bool { return false }); a.Now() != 7 || len(got) != 6 {
		t.Errorf("it is %s, want 7ns, and they came in the order %v", a.Now(), got)
	}
	if a.Until(9, func() bool { return len(got) == 7 }); a.Now() != 8 || len(a.entries) != 1 {
		t.Errorf("it is %s, want 8ns, and %d are left, want 1", a.Now(), len(a.entries))
	}
	if a.Until(8, func() bool { return false }); a.Now() != 8 || len(got) != 8 {
		t.Errorf("it is %s, want 8ns, and they came in the order %v", a.Now(), got)
	}
}
