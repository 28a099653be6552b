package service

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

func TestEndIsSoonFromAYearBeforeAndForTheLastTenthOfACounter(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	none := time.Time{}
	layout := func(text string) snowfence.Layout {
		l, err := snowfence.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	lasting := func(d time.Duration) snowfence.Layout {
		l := layout("ms41-worker10-seq12@2026-01-01")
		l.Epoch = l.Epoch.Add(now.Add(d).Sub(l.Horizon()).Truncate(time.Millisecond))
		return l
	}
	for _, test := range []struct {
		name    string
		layout  snowfence.Layout
		counter *kind.Counter
		ends    time.Time
		soon    bool
	}{
		{"a layout", lasting(366 * day), nil, now.Add(366 * day), false},
		{"a layout within a year", lasting(364 * day), nil, now.Add(364 * day), true},
		{"a layout that has ended", layout("s28-worker22-seq13@2016-05-19T16:00:00Z"), nil, time.Unix(1463673600+1<<28, 0), true},
		{"a layout of 8,000 years", layout("ms48-seq15@2026-01-01"), nil, none, false},
		{"a kind without layouts", snowfence.Layout{}, nil, none, false},
		{"a counter that is starting", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 100, Total: 100}, none, false},
		{"a counter with a rate", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 90, Total: 100, RunsOut: now.Add(400 * day)}, now.Add(400 * day), false},
		{"a counter within a year", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 90, Total: 100, RunsOut: now.Add(300 * day)}, now.Add(300 * day), true},
		{"a counter with 11 % left", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 11, Total: 100}, none, false},
		{"a counter with a tenth left", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 10, Total: 100}, none, true},
		{"a counter with a tenth left, at a low rate", snowfence.Layout{}, &kind.Counter{Limit: 100, Left: 10, Total: 100, RunsOut: now.Add(400 * day)}, now.Add(400 * day), true},
		{"a counter of 3 numbers", snowfence.Layout{}, &kind.Counter{Limit: 3, Left: 1, Total: 3}, none, false},
		{"a counter that is full", snowfence.Layout{}, &kind.Counter{Limit: 3, Total: 3, RunsOut: now.Add(-day)}, now.Add(-day), true},
		{"a source without a known limit", snowfence.Layout{}, &kind.Counter{}, none, false},
	} {
		if ends, soon := ending(test.layout, test.counter, now); !ends.Equal(test.ends) || soon != test.soon {
			t.Errorf("%s ends at %s, soon %t, want %s, %t", test.name, ends, soon, test.ends, test.soon)
		}
	}
}
