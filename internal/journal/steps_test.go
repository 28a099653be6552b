package journal

import (
	"errors"
	"iter"
	"testing"
)

// schedules calls run with every order in which two processes can take their
// steps, and counts them. run calls first for each step that either could take: it
// returns whether it is the first one's.
func schedules(run func(first func() bool)) (count int) {
	var choices []bool // the choices, as far as they are fixed
	for {
		at := 0
		run(func() bool {
			if at == len(choices) {
				choices = append(choices, true)
			}
			at++
			return choices[at-1]
		})
		count++
		for len(choices) > 0 && !choices[len(choices)-1] {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			return count
		}
		choices[len(choices)-1] = false
	}
}

// steps returns a function that does one step of a process. It returns
// false once that has ended.
func steps(p *process, do func()) (next func() (struct{}, bool), stop func()) {
	return iter.Pull(func(yield func(struct{}) bool) {
		p.between = func() { yield(struct{}{}) }
		do()
	})
}

// TestTwoOwnersAtEveryStepNeverBothSucceed has a lock that keeps nobody out. The
// disk's operations of an owner and of a process that takes the journal come in every
// order. The second must not have a page that the first has gone beyond, and none
// at all if the first is sure that none is left.
func TestTwoOwnersAtEveryStepNeverBothSucceed(t *testing.T) {
	for name, test := range map[string]struct {
		does  func(first *Journal) error
		found string // the pages that may be taken though the first was not stopped
	}{
		"discard":    {(*Journal).Discard, ""},
		"keep":       {func(j *Journal) error { return j.Keep([]byte("the next page")) }, "the next page"},
		"take again": {func(j *Journal) error { j.taken = false; return mustTake(j) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 3 { // empty, and either file as the newer
				both, won, lost := 0, 0, 0
				count := schedules(func(first func() bool) {
					m := newMachine()
					m.lies.unlocked = true
					j, p := living(t, m, fourPages[:n]...)
					k, q := start(t, m)
					var page []byte
					var did, took error
					one, stopOne := steps(p, func() { did = test.does(j) })
					two, stopTwo := steps(q, func() { page, took = k.Take() })
					defer stopOne()
					defer stopTwo()
					_, oneLeft := one()
					_, twoLeft := two()
					for oneLeft || twoLeft {
						if oneLeft && (!twoLeft || first()) {
							_, oneLeft = one()
						} else {
							_, twoLeft = two()
						}
					}
					switch {
					case did == nil && took == nil && page != nil && string(page) != test.found:
						both++
					case did == nil:
						won++
					case page != nil:
						lost++
					}
				})
				t.Logf("%d pages: %d orders, the first alone in %d, the second in %d", n, count, won, lost)
				if both > 0 {
					t.Errorf("%d pages: both succeeded in %d of %d orders", n, both, count)
				}
				if n > 0 && (won == 0 || lost == 0) {
					t.Errorf("%d pages: the first alone succeeded in %d orders and the second in %d: the test shows nothing", n, won, lost)
				}
			}
		})
	}
}

var errNothing = errors.New("there is no page")

// mustTake takes a page. An empty journal is an error.
func mustTake(j *Journal) error {
	page, err := j.Take()
	if err == nil && page == nil {
		err = errNothing
	}
	return err
}
