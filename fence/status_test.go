package fence_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestStatusSaysWhyNoIDsAreIssuedAndNothingWhileTheyAre(t *testing.T) {
	t.Run("no random bits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source := &dry{}
			h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Rand = source })
			source.now.Store(true)
			pass(50 * time.Second)
			next(t, h)
			if s := h.Status(); !s.Ready || s.LastError != nil {
				t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
			}
			pass(20 * time.Second)
			if s := h.Status(); s.Ready || s.LastError == nil || !strings.Contains(s.LastError.Error(), "no random bits") {
				t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
			}
			source.now.Store(false)
		})
	})
	t.Run("no store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			faulty := faultstore.New(memstore.New().Client(), nil, nil)
			h := open(t, faulty)
			faulty.Follow(noStore)
			pass(59 * time.Second)
			if s := h.Status(); !s.Ready || s.LastError != nil {
				t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
			}
			pass(2 * time.Second)
			if s := h.Status(); s.Ready || !errors.Is(s.LastError, snowfence.ErrWindowEnded) || !errors.Is(s.LastError, faultstore.ErrInjected) {
				t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
			}
			faulty.Follow(nil)
			pass(2 * time.Second)
			if s := h.Status(); !s.Ready || s.LastError != nil {
				t.Errorf("ready %t, last error %v", s.Ready, s.LastError)
			}
		})
	})
}

func TestRandomBitsThatCameBackAreNotBlamedForALaterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, faulty := &dry{}, faultstore.New(memstore.New().Client(), nil, nil)
		h := open(t, faulty, func(c *fence.Config) { c.Rand = source })
		faulty.Follow(noStore)
		source.now.Store(true)
		pass(62 * time.Second) // the window ends meanwhile
		source.now.Store(false)
		pass(20 * time.Second)
		_, err := h.Next(t.Context())
		if !errors.Is(err, snowfence.ErrWindowEnded) || !errors.Is(err, faultstore.ErrInjected) || strings.Contains(err.Error(), "no random bits") {
			t.Errorf("the error is %v", err)
		}
	})
}
