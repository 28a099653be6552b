package fence_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestConfigWithoutALayoutTakesTheNamespacesOwn(t *testing.T) {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	memory := memstore.New()
	open := func(layout snowfence.Layout, namespace string) (snowfence.Layout, error) {
		h, err := fence.Open(t.Context(), fence.Config{Store: memory.Client(), Namespace: namespace, Layout: layout})
		if err != nil {
			return snowfence.Layout{}, err
		}
		defer func() { _ = h.Close(t.Context()) }()
		return h.Status().Layout, nil
	}
	for _, step := range []struct {
		namespace string
		give      snowfence.Layout
		want      snowfence.Layout
	}{
		{"new", snowfence.Layout{}, snowfence.DefaultLayout()},
		{"old", twitter.Layout, twitter.Layout},
		{"old", snowfence.Layout{}, twitter.Layout},
		{"", twitter.Layout, twitter.Layout},
		{"default", snowfence.Layout{}, twitter.Layout},
	} {
		if got, err := open(step.give, step.namespace); err != nil || !got.Equal(step.want) {
			t.Errorf("namespace %q with layout %q: %s, %v, want %s", step.namespace, step.give, got, err, step.want)
		}
	}
	if _, err := open(snowfence.DefaultLayout(), "old"); !errors.As(err, new(*fence.LayoutMismatchError)) {
		t.Errorf("a layout that was given: %v", err)
	}
	if _, err := open(snowfence.Layout{}, "Wrong Name"); !errors.As(err, new(*fence.ConfigError)) {
		t.Errorf("a wrong name: %v", err)
	}
}

// The record can't be read when it is looked for, and the claim then finds it. Two layouts there never are.
func TestLayoutThatCouldNotBeReadIsNeverReplaced(t *testing.T) {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	memory := memstore.New()
	first, err := fence.Open(t.Context(), fence.Config{Store: memory.Client(), Layout: twitter.Layout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close(t.Context()) }()
	faulty := faultstore.New(memory.Client(), faultstore.Nth(faultstore.Get, "ns/default/namespace", 1, faultstore.Fault{Before: true}), nil)
	if _, err := fence.Open(t.Context(), fence.Config{Store: faulty}); !errors.As(err, new(*fence.LayoutMismatchError)) {
		t.Errorf("error is %v", err)
	}
}

// TestProgramsUnderTestNeedNoSettings is the example of "Testing your code" in the documentation: a store in
// memory, faults that the test chooses, and fake time.
func TestProgramsUnderTestNeedNoSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := faultstore.New(memstore.New().Client(), func(faultstore.Call) faultstore.Fault {
			return faultstore.Fault{Before: away.Load()}
		}, nil)
		ids, err := fence.Open(t.Context(), fence.Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		var all []snowfence.ID
		next := func() error {
			id, err := ids.Next(t.Context())
			if err == nil {
				all = append(all, id)
			}
			return err
		}
		for _, step := range []struct {
			wait    time.Duration
			away    bool
			refused bool
		}{
			{0, false, false}, {time.Hour, false, false}, {30 * time.Second, true, false}, {5 * time.Minute, true, true}, {time.Minute, false, false},
		} {
			away.Store(step.away)
			<-time.After(step.wait) // in the bubble's time
			if err := next(); errors.Is(err, fence.ErrUnavailable) != step.refused || (err != nil) != step.refused {
				t.Errorf("%+v: %v", step, err)
			}
		}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != 4 {
			t.Errorf("the ids are %d", all)
		}
		if got := ids.Status().Layout.Epoch; got.Year() != 2000 {
			t.Errorf("the epoch is %s", got)
		}
		if err := ids.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
