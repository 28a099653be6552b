package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRoundedIDsAreNamedBeforeAnyAdviceToDelete has rows that differ, whose ids a spreadsheet made equal: in the order of
// rows that were copied.
func TestRoundedIDsAreNamedBeforeAnyAdviceToDelete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var exact, decimal, double []uint64
	for i := range 400 {
		id := (117250214228971539>>22+uint64(i/3))<<22 | r.Uint64N(300) // up to three in a tick
		exact, decimal, double = append(exact, id), append(decimal, id/1000*1000), append(double, id&^15)
	}
	for name, lists := range map[string][]*list{
		"a spreadsheet, within": {numbered("one", decimal)},
		"a double, within":      {numbered("one", double)},
		"twice":                 {numbered("one", decimal), numbered("two", decimal)},
		"beside exact ones":     {numbered("two", exact), numbered("one", double)},
		"and rows twice":        {numbered("one", append(decimal, decimal...)), numbered("two", append(exact, exact...))},
	} {
		report := runCheck(t, layoutConfig(t, "default"), lists...)
		sum := uint64(0)
		for i, c := range report.Causes {
			sum += c.Duplicates
			if i == 0 && (c.Kind != Rounded || c.Duplicates == 0 || !strings.HasPrefix(c.Evidence, "one: ") || !strings.Contains(c.Evidence, " long ids ") || !strings.HasPrefix(c.Advice, "these ids look rounded")) {
				t.Errorf("%s: the first cause is %+v", name, c)
			}
			if slices.Contains(c.Sources, "one") && strings.Contains(c.Advice, "leave one copy out") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if report.Duplicates == 0 || sum != report.Duplicates {
			t.Errorf("%s: %d duplicates, of which %d have a cause", name, report.Duplicates, sum)
		}
	}
	if report := runCheck(t, layoutConfig(t, "default"), numbered("exact", exact)); len(report.Causes) > 1 || len(report.Causes) == 1 && report.Causes[0].Kind == Rounded {
		t.Errorf("exact ids: %+v", report.Causes)
	}
	if report := runCheck(t, layoutConfig(t, "default"), numbered("one", slices.Compact(decimal))); report.Sources[0].Rounded == "" || report.Complete {
		t.Errorf("without duplicates: %+v", report)
	}
}

// TestClashingIDsThatLookRoundedAreNamedInASourceOfExactOnes has two sources at one pace, of which the first part was cut to
// 15 digits. All ids that clash are of that part.
func TestClashingIDsThatLookRoundedAreNamedInASourceOfExactOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var lists [2][]uint64
	for i := range 800 {
		tick := (117250214228971539>>22 + uint64(4*i) + r.Uint64N(4)) << 22
		for n := range lists {
			id := tick | uint64(n)<<5 | r.Uint64N(32)
			if i < 740 {
				id -= id % 1000
			}
			lists[n] = append(lists[n], id)
		}
	}
	report := runCheck(t, layoutConfig(t, "default"), numbered("one", lists[0]), numbered("two", lists[1]))
	if c := only(t, report, Rounded); !strings.HasPrefix(c.Evidence, "of the ids that repeat, ") || !strings.Contains(c.Advice, "do not delete any") {
		t.Errorf("%d duplicates: %+v", report.Duplicates, c)
	}
}
