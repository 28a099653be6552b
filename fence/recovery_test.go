package fence_test

import (
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// dry is a source of randomness that runs dry once now is set.
type dry struct{ now atomic.Bool }

func (d *dry) Read(b []byte) (int, error) {
	if d.now.Load() {
		return 0, errors.New("no random bits")
	}
	return rand.Read(b)
}

// TestIdleHolderIsReadyAgainAfterASuspend stops the monotonic clock with the
// machine, and with it the timer of the extension. The status is read while the program asks for no
// ids.
func TestIdleHolderIsReadyAgainAfterASuspend(t *testing.T) {
	for name, memory := range map[string]*memstore.Memory{
		"durable": memstore.New(),
		"lossy":   memstore.NewWith(memstore.Config{Loss: 100 * time.Millisecond}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, clock := openJumping(t, memory.Client())
				pass(time.Second)
				clock.stepped.Store(int64(5 * time.Minute))
				begun := time.Now()
				pass(200 * time.Millisecond)
				for !h.Status().Ready {
					if pass(100 * time.Millisecond); time.Since(begun) > time.Second {
						t.Fatal("it is not ready after a second")
					}
				}
				steady(t, h)
			})
		})
	}
}

// TestLateAcknowledgementEndsNoOutage has a store that acknowledges each bound
// when it has passed. The holder never issues, and reports it at once.
func TestLateAcknowledgementEndsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, faultstore.New(memstore.New().Client(), faultstore.Always(faultstore.Fault{Delay: 1500 * time.Millisecond}), nil), func(c *fence.Config) {
			c.Window = time.Second
			c.ClaimWait = time.Minute
			c.RequestTimeout = 10 * time.Second
		})
		if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrWindowEnded) {
			t.Errorf("the error is %v", err)
		}
		for range 20 {
			begun := time.Now()
			if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrWindowEnded) || time.Since(begun) != 0 {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
			pass(300 * time.Millisecond)
		}
		if s := h.Status(); s.Ready || s.Extensions == 0 || s.Losses != 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}
