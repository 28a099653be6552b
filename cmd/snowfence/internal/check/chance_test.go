package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNumbersThatAreCountedUpAreNotCalledCopies has two databases that count from
// 1 on, each for itself: who left one copy out would lose records.
func TestNumbersThatAreCountedUpAreNotCalledCopies(t *testing.T) {
	numbers := func(from, to int) []uint64 {
		return fill(to-from, func(i int) uint64 { return uint64(from + i) })
	}
	for name, lists := range map[string][]*list{
		"two databases":     {numbered("a", numbers(1, 3000)), numbered("b", numbers(1, 5000))},
		"one begun again":   {numbered("a", slices.Concat(numbers(1, 3000), numbers(1, 2000)))},
		"from a high start": {numbered("a", numbers(1<<40, 1<<40+2000)), numbered("b", numbers(1<<40+500, 1<<40+4000))},
	} {
		c := only(t, runCheck(t, Config{Sizes: tiny}, lists...), Unexplained)
		contains(t, c, "no preset suits")
		if !strings.Contains(c.Advice, "may be different records") {
			t.Errorf("%s: %s", name, c.Advice)
		}
	}
	// Rows with gaps, and rows in no order, are copies as before.
	r := rand.New(rand.NewPCG(1, 1))
	sum := uint64(1)
	gaps := fill(2000, func(int) uint64 { sum += 1 + r.Uint64N(50); return sum })
	only(t, runCheck(t, Config{Sizes: tiny}, numbered("a", gaps), numbered("b", gaps)), Copies)
	mixed := numbers(1, 2000)
	r.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
	only(t, runCheck(t, Config{Sizes: tiny}, numbered("a", mixed), numbered("b", mixed)), Copies)
}

// TestGuessThatSuitsFewIsGivenUp has numbers that were drawn at random: they are
// no ids of two layouts.
func TestGuessThatSuitsFewIsGivenUp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	random := fill(5000, func(int) uint64 { return r.Uint64() })
	if report := runCheck(t, Config{Sizes: tiny}, numbered("a", random)); len(report.Causes) > 0 || report.Layout != "" || report.Guessed {
		t.Errorf("%s: %+v", report.Layout, report.Causes)
	}
	random = append(random, random[3], random[4])
	contains(t, only(t, runCheck(t, Config{Sizes: tiny}, numbered("a", random)), Unexplained), "no preset suits")
}

// seldom is what a worker id issues: an id in about so many ticks, at random.
func (i issuer) seldom(r *rand.Rand, n int, ticks int64) []uint64 {
	at := int64(0)
	return fill(n, func(int) uint64 {
		at += 1 + r.Int64N(2*ticks)
		return i.id(at, 0)
	})
}

// TestMoreThanChanceHasInCommonIsNotCalledTwoProcesses has the same records in two
// files, in another order or not all of them.
func TestMoreThanChanceHasInCommonIsNotCalledTwoProcesses(t *testing.T) {
	five := issuerOf(t, "default", 5)
	r := rand.New(rand.NewPCG(1, 1))
	all := five.seldom(r, 4000, 100)
	some := func(ids []uint64, one int) (part []uint64) {
		for _, id := range ids {
			if r.IntN(one) == 0 {
				part = append(part, id)
			}
		}
		return part
	}
	mixed := slices.Clone(all)
	r.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
	for name, lists := range map[string][]*list{
		"another order": {numbered("a", all), numbered("b", mixed)},
		"a part":        {numbered("a", all), numbered("b", some(all, 3))},
		"parts":         {numbered("a", all[:3000]), numbered("b", some(all, 2))},
	} {
		c := only(t, runCheck(t, layoutConfig(t, "default"), lists...), Unexplained)
		contains(t, c, "worker id 5: of its ", "that two processes would have fewer by chance")
		if !strings.Contains(c.Advice, "each needs a worker id of its own") {
			t.Errorf("%s: %s", name, c.Advice)
		}
	}
}

// TestTwoProcessesAreSaidAtEveryPace has two processes with one worker id that know
// nothing of each other.
func TestTwoProcessesAreSaidAtEveryPace(t *testing.T) {
	five := issuerOf(t, "default", 5)
	for _, ticks := range []int64{1, 2, 5, 20, 100} {
		for seed := range uint64(5) {
			a, b := five.seldom(rand.New(rand.NewPCG(seed, 1)), 20_000, ticks), five.seldom(rand.New(rand.NewPCG(seed, 2)), 20_000, ticks)
			contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("a", a), numbered("b", b)), SameWorker), "worker id 5: 20,000 ids in a and 20,000 in b")
		}
	}
}

// TestClockThatIsSetBackOftenIsNoSecondProcess has a clock that steps back more
// often than is followed.
func TestClockThatIsSetBackOftenIsNoSecondProcess(t *testing.T) {
	five := issuerOf(t, "default", 5)
	var ids []uint64
	for n := range int64(40) {
		ids = append(ids, five.log(rand.New(rand.NewPCG(1, uint64(n))), n*480, n*480+500)...)
	}
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", ids)), Unexplained)
	contains(t, c, "worker id 5: its ", "go back 39 times")
	if !strings.Contains(c.Advice, "a clock that is set back again and again") {
		t.Error(c.Advice)
	}
}
