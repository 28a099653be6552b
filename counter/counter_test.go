package counter_test

import (
	"context"
	"testing"
	"time"

	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

func TestCountersKeepTheirRules(t *testing.T) {
	for name, loss := range map[string]time.Duration{"durable": 0, "lossy": 50 * time.Millisecond} {
		memory := memstore.NewWith(memstore.Config{Loss: loss})
		h := countertest.Harness{Open: func(context.Context) (store.Store, error) { return memory.Client(), nil }, Seed: 7}
		t.Run(name, func(t *testing.T) { countertest.Run(t, h) })
		t.Run(name+" with faults", func(t *testing.T) { countertest.RunFaulty(t, h) })
	}
}
