package fence_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// The range lies over two blocks of a thousand registers, of which a claim lists one at a time.
func TestHolderOfARangeClaimsNoWorkerIDOutsideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		within := &fence.WorkerRange{First: 995, Last: 1004}
		open := func(c fence.Config) (*fence.Holder, error) {
			c.Store = memory.Client()
			return fence.Open(t.Context(), c)
		}
		held := map[int64]bool{}
		for range 10 {
			h, err := open(fence.Config{Workers: within})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close(t.Context()) }()
			id, err := h.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			parts, err := h.Status().Layout.Decompose(id)
			if err != nil || parts.Worker < within.First || parts.Worker > within.Last || held[parts.Worker] {
				t.Errorf("worker %d of %v, %v", parts.Worker, held, err)
			}
			held[parts.Worker] = true
		}
		var full *fence.ExhaustedError
		if _, err := open(fence.Config{Workers: within}); !errors.As(err, &full) || full.Workers != 10 || full.Held != 10 {
			t.Errorf("error is %v", err)
		}
		other, err := open(fence.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(t.Context()) }()
		if held[other.Status().Worker] {
			t.Errorf("worker %d is held twice", other.Status().Worker)
		}
	})
}

func TestRangeThatLeavesNoWorkerIDIsRefused(t *testing.T) {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	worker, datacenter := int64(40), int64(2)
	for name, c := range map[string]fence.Config{
		"beyond the layout":         {Workers: &fence.WorkerRange{First: 0, Last: 1024}},
		"below zero":                {Workers: &fence.WorkerRange{First: -1, Last: 3}},
		"upside down":               {Workers: &fence.WorkerRange{First: 4, Last: 3}},
		"of another datacenter":     {Layout: twitter.Layout, Datacenter: &datacenter, Workers: &fence.WorkerRange{First: 0, Last: 63}},
		"without the pinned worker": {Worker: &worker, Workers: &fence.WorkerRange{First: 0, Last: 39}},
	} {
		c.Store = memstore.New().Client()
		var wrong *fence.ConfigError
		if _, err := fence.Open(t.Context(), c); !errors.As(err, &wrong) || wrong.Field != "workers" && wrong.Field != "worker" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
