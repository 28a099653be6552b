package fence_test

import (
	"errors"
	"fmt"
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
			ready(t, h, true)
			pass(20 * time.Second)
			ready(t, h, false)
			if err := h.Status().LastError; !strings.Contains(fmt.Sprint(err), "no random bits") {
				t.Error(err)
			}
			source.now.Store(false)
		})
	})
	t.Run("no store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, faulty := openFaulty(t)
			faulty.Follow(noStore)
			pass(59 * time.Second)
			ready(t, h, true)
			pass(2 * time.Second)
			ready(t, h, false)
			if err := h.Status().LastError; !errors.Is(err, snowfence.ErrWindowEnded) || !errors.Is(err, faultstore.ErrInjected) {
				t.Error(err)
			}
			faulty.Follow(nil)
			pass(2 * time.Second)
			ready(t, h, true)
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
