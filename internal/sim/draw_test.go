package sim

import (
	"testing"
	"time"
)

// TestDrawnStepsOfAClockAreOfEveryLength: within a window, beyond it but too little to
// end a term, and beyond that; forward and back.
func TestDrawnStepsOfAClockAreOfEveryLength(t *testing.T) {
	const noticed = 10 * time.Minute
	var within, beyond, far [2]int // forward, back
	for seed := range uint64(1000) {
		p := Draw(seed)
		for _, f := range p.Faults {
			if f.Kind != Step || p.Window >= noticed {
				continue
			}
			back := 0
			if f.For < 0 {
				back = 1
			}
			switch length := f.For.Abs(); {
			case length <= p.Window:
				within[back]++
			case length <= noticed:
				beyond[back]++
			default:
				far[back]++
			}
		}
	}
	t.Logf("forward and back: within a window %d, beyond it %d, more than %s %d", within, beyond, noticed, far)
	for back := range 2 {
		if within[back] < 100 || beyond[back] < 100 || far[back] < 100 {
			t.Errorf("forward and back: within a window %d, beyond it %d, more than %s %d: must be 100 at least", within, beyond, noticed, far)
		}
	}
}
