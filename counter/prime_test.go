package counter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

func TestSegmentsThatCannotBeReservedDoNotOpenAndSayWhy(t *testing.T) {
	refused := errors.New("password authentication failed")
	guard := counter.QueryGuard{Name: "max(id) of orders", Greatest: func(context.Context) (int64, error) { return 0, refused }}
	for _, test := range []struct {
		name                string
		loss, maxWait, want time.Duration
	}{
		{"on a durable store", 0, 0, 10 * time.Second},
		{"on a lossy one", 5 * time.Second, 0, 15 * time.Second},
		{"with calls that wait for longer", 0, 20 * time.Second, 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.NewWith(memstore.Config{Loss: test.loss})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := counter.OpenSegments(ctx, counter.SegmentsConfig{
					Config: counter.Config{Store: memory.Client(), Name: "users", Guard: guard, MaxWait: test.maxWait},
				})
				var unavailable *counter.UnavailableError
				if !errors.As(err, &unavailable) || unavailable.For != test.want || !errors.Is(err, refused) {
					t.Errorf("the error is %v, must come after %s", err, test.want)
				}
			})
		})
	}
}

func TestSegmentsOpenAtTheirLimitAndTheirCallsFail(t *testing.T) {
	s := memstore.New().Client()
	config := counter.Config{Store: s, Name: "users", Limit: 10}
	var segments *counter.Segments
	for range 2 { // the first one has every number
		segments = openLimited(t, counter.SegmentsConfig{Config: config})
	}
	var full *counter.FullError
	if _, err := segments.Next(t.Context()); !errors.As(err, &full) || full.Limit != 10 {
		t.Errorf("the error is %v", err)
	}
	if got := segments.Status(); got.Left != 0 || got.Total != 10 || !errors.As(got.LastError, &full) {
		t.Errorf("its status is %+v", got)
	}
}
