package counter_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestCallFailsWithTheStoresErrorAfterMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := faultstore.New(memstore.New().Client(), faultstore.Only(faultstore.Always(faultstore.Fault{Before: true}),
			func(c faultstore.Call) bool { return c.Verb != faultstore.Traits }), nil)
		tickets := openTickets(t, counter.Config{Store: away, Name: "orders", MaxWait: 3 * time.Second})
		begun := time.Now()
		_, err := tickets.Next(t.Context())
		var unavailable *counter.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.For != 3*time.Second || !errors.Is(err, faultstore.ErrInjected) {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if s := tickets.Status(); s.Waiting != 0 || !errors.Is(s.LastError, faultstore.ErrInjected) {
			t.Errorf("its status is %+v", s)
		}
	})
}
