package fence_test

import (
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

const (
	trip   = 5 * time.Millisecond   // the length of a request in these tests
	glance = 100 * time.Millisecond // from one call to the next

	thirdOfWindow = lease.DefaultWindow / 3
)

// outlived is how a holder stood an outage of its store.
type outlived struct {
	said    time.Duration // Status.Left when it began
	lived   time.Duration // when the last id before the store's return was issued
	back    time.Duration // from the return to the first id
	forGood time.Duration // and to the last refusal of the two windows after, or that id
}

// outlive takes the store away that long after an extension, and gives it back
// that long after the last id.
func outlive(t *testing.T, loss, phase, dark time.Duration) (o outlived) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		answers := faultstore.Always(faultstore.Fault{ReplyDelay: trip})
		faulty := faultstore.New(memstore.NewWith(memstore.Config{Loss: loss}).Client(), answers, nil)
		h := open(t, faulty, func(c *fence.Config) { c.Policy.MaxWait = 2 * time.Millisecond })
		issues := func() bool {
			_, err := h.Next(t.Context())
			return err == nil
		}
		pass(2 * lease.DefaultWindow)
		for _, step := range []time.Duration{glance, time.Millisecond} { // to an extension, and exactly to the next one
			for extended := h.Status().Extensions; h.Status().Extensions == extended; {
				pass(step)
			}
			if step == glance {
				pass(thirdOfWindow - 2*glance)
			}
		}
		pass(phase)
		faulty.Follow(noStore)
		gone := time.Now()
		o.said = h.Status().Left
		for issues() {
			o.lived = time.Since(gone)
			pass(glance)
		}
		pass(dark)
		faulty.Follow(answers)
		returned := time.Now()
		for !issues() {
			pass(glance)
		}
		o.back = time.Since(returned)
		for o.forGood = o.back; time.Since(returned) < 2*lease.DefaultWindow; pass(glance) {
			if !issues() {
				o.forGood = time.Since(returned)
			}
		}
		steady(t, h)
	})
	return o
}

// outlives checks that what is left when the store goes away is between two bounds
// and as near to the lower one as requests allow, that ids are issued for just
// that long, and that they are back within a time of the return. The outages
// begin at each quarter of the extension's cycle, and end in every part of the two
// windows after the last id.
func outlives(t *testing.T, loss, least, most, back, forGood time.Duration) {
	t.Helper()
	lowest := most
	phases := []time.Duration{thirdOfWindow - 2*trip}
	for quarter := range 4 {
		phases = append(phases, time.Duration(quarter)*thirdOfWindow/4)
	}
	if underRace {
		phases = phases[:2] // just before an extension, and just after
	}
	for _, phase := range phases {
		for sixth := range 12 {
			dark := time.Duration(sixth)*thirdOfWindow/6 + time.Duration(sixth/11)*5*time.Minute
			o := outlive(t, loss, phase, dark)
			lowest = min(lowest, o.said)
			if o.said < least-trip || o.said > most {
				t.Errorf("%s after an extension %s are left, not %s to %s", phase, o.said, least, most)
			}
			if o.lived > o.said || o.lived < o.said-2*glance {
				t.Errorf("%s after an extension its status showed %s left, and ids lasted for %s", phase, o.said, o.lived)
			}
			if o.back > back || o.forGood > forGood {
				t.Errorf("%s after an extension, for %s after the last id: ids are back after %s, for good after %s; want at most %s and %s",
					phase, dark, o.back, o.forGood, back, forGood)
			}
		}
	}
	if lowest > least+3*trip {
		t.Errorf("%s are left at the least, so %s is not what to promise", lowest, least)
	}
}

func TestHolderOnADurableStoreOutlivesItByTwoThirdsOfItsWindow(t *testing.T) {
	outlives(t, 0, 2*thirdOfWindow, lease.DefaultWindow, time.Second, time.Second)
}

// TestHolderOnALossyStoreOutlivesItByAThirdOfItsWindow: the bound of an extension
// is usable with the next one, a third of the window later. After the return a new
// one is confirmed as soon as it has the age of the loss. What was confirmed before
// may give ids sooner, and end before that.
func TestHolderOnALossyStoreOutlivesItByAThirdOfItsWindow(t *testing.T) {
	for _, loss := range []time.Duration{time.Second, 10 * time.Second, thirdOfWindow - time.Millisecond} {
		t.Run(loss.String(), func(t *testing.T) {
			outlives(t, loss, thirdOfWindow, 2*thirdOfWindow, loss+time.Second, loss+time.Second)
		})
	}
}
