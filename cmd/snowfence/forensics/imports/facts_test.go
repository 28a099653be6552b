package imports_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
)

// stop is when the old system of these tests was stopped.
var stop = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// leaf is Leaf's layout.
func leaf(t *testing.T) snowfence.Layout {
	t.Helper()
	p, err := snowfence.PresetByName("leaf")
	if err != nil {
		t.Fatal(err)
	}
	return p.Layout
}

// facts describe two workers that were stopped.
func facts(t *testing.T) imports.Facts {
	return imports.Facts{
		Layout: leaf(t), Sightings: []imports.Sighting{{Worker: 7, Where: "a"}, {Worker: 3, Where: "b"}},
		StoppedAt: stop, Ahead: imports.DefaultAhead, Now: stop.Add(time.Minute),
	}
}

func compose(t *testing.T, l snowfence.Layout, at time.Time, worker int64, sequence int64) snowfence.ID {
	t.Helper()
	datacenter, worker, err := l.SplitWorker(worker)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Compose(snowfence.Parts{Tick: l.TickAt(at), Datacenter: datacenter, Worker: worker, Sequence: sequence})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestFloorLiesAboveTheLatestOfAllThatIsKnown(t *testing.T) {
	l := leaf(t)
	tests := []struct {
		name   string
		change func(*imports.Facts)
		want   time.Time // the instant whose tick is the last that is taken
	}{
		{"the stop", func(*imports.Facts) {}, stop},
		{"the stop and a margin", func(f *imports.Facts) { f.Margin = 5 * time.Second }, stop.Add(5 * time.Second)},
		{"an id", func(f *imports.Facts) {
			f.StoppedAt, f.LastIDs = time.Time{}, []snowfence.ID{compose(t, l, stop.Add(-time.Hour), 3, 4095)}
		}, stop.Add(-time.Hour)},
		{"the later of two ids", func(f *imports.Facts) {
			f.StoppedAt, f.LastIDs = time.Time{}, []snowfence.ID{compose(t, l, stop.Add(-time.Hour), 3, 0), compose(t, l, stop.Add(-time.Minute), 7, 0)}
		}, stop.Add(-time.Minute)},
		{"an id after the stop", func(f *imports.Facts) {
			f.LastIDs = []snowfence.ID{compose(t, l, stop.Add(3*time.Second), 3, 0)}
		}, stop.Add(3 * time.Second)},
		{"a stop after the id", func(f *imports.Facts) {
			f.LastIDs = []snowfence.ID{compose(t, l, stop.Add(-time.Hour), 3, 0)}
		}, stop},
		{"a timestamp after the stop", func(f *imports.Facts) { f.Sightings[1].Last = stop.Add(time.Second) }, stop.Add(time.Second)},
		{"a timestamp before the stop", func(f *imports.Facts) { f.Sightings[1].Last = stop.Add(-time.Second) }, stop},
		{"a timestamp ahead of now", func(f *imports.Facts) { f.Sightings[1].Last = stop.Add(10 * time.Minute) }, stop.Add(10 * time.Minute)},
	}
	for _, test := range tests {
		f := facts(t)
		test.change(&f)
		r, err := imports.NewPlan(f)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if want := l.TickAt(test.want) + 1; r.Floor != want {
			t.Errorf("%s: floor %d, want %d, because of %s", test.name, r.Floor, want, r.Because)
		}
		if got := fmt.Sprint(r.Steps[0].Worker, r.Steps[1].Worker, len(r.Steps)); got != "3 7 2" {
			t.Errorf("%s: workers %s", test.name, got)
		}
	}
}

func TestUnitsLongerThanAMillisecondAreTakenWhole(t *testing.T) {
	p, err := snowfence.PresetByName("javascript-safe-s")
	if err != nil {
		t.Fatal(err)
	}
	f := facts(t)
	f.Layout, f.StoppedAt = p.Layout, stop.Add(999*time.Millisecond)
	r, err := imports.NewPlan(f)
	if err != nil || r.Floor != p.Layout.TickAt(stop)+1 {
		t.Errorf("floor %d, %v", r.Floor, err)
	}
	f.StoppedAt, f.LastIDs = time.Time{}, []snowfence.ID{compose(t, p.Layout, stop, 3, 9)}
	if r, err = imports.NewPlan(f); err != nil || r.Floor != p.Layout.TickAt(stop)+1 {
		t.Errorf("floor %d, %v", r.Floor, err)
	}
}

func TestFactsThatCannotBeAreRefused(t *testing.T) {
	l := leaf(t)
	shanghai, err := snowfence.PresetByName("shardingsphere-shanghai")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*imports.Facts)
		want   string
		is     error // or nil
		class  snowfence.Class
	}{
		{"no worker", func(f *imports.Facts) { f.Sightings = nil }, "no worker id", imports.ErrNoWorkers, 0},
		{"alive", func(f *imports.Facts) { f.Sightings[0].Alive = "its node is there" }, "worker 7, a: its node is there", imports.ErrRunning, 0},
		{"stopped later", func(f *imports.Facts) { f.StoppedAt = f.Now.Add(time.Second) }, "must be stopped first", nil, 0},
		{"stopped before the epoch", func(f *imports.Facts) { f.StoppedAt = l.Epoch.Add(-time.Second) }, "before the epoch", nil, 0},
		{"id of another worker", func(f *imports.Facts) {
			f.LastIDs = []snowfence.ID{compose(t, l, stop, 40, 0)}
		}, "it is of worker 40, which is none", nil, snowfence.ClassInvalidID},
		{"id of the future", func(f *imports.Facts) {
			f.LastIDs = []snowfence.ID{compose(t, l, stop.Add(12*time.Minute), 3, 0)}
		}, "still to come by more than 10m0s", nil, snowfence.ClassInvalidID},
		{"id of an earlier epoch", func(f *imports.Facts) {
			f.Layout.Epoch = stop.Add(-8 * time.Hour)
			f.LastIDs = []snowfence.ID{compose(t, shanghai.Layout, stop, 3, 0)}
		}, "still to come", nil, snowfence.ClassInvalidID},
		{"id with bits above the layout", func(f *imports.Facts) {
			f.Layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 31}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 12}}
			f.LastIDs = []snowfence.ID{1 << 60}
		}, "is no id of the layout", nil, snowfence.ClassInvalidID},
		{"timestamp of the future", func(f *imports.Facts) { f.Sightings[0].Last = f.Now.Add(11 * time.Minute) }, "a clock of the old system was ahead", nil, 0},
		{"too many", func(f *imports.Facts) {
			f.All = true
			f.Layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 21}, {Kind: snowfence.Sequence, Bits: 1}}
		}, "1048576 is the most", nil, 0},
		{"datacenter", func(f *imports.Facts) { f.All, f.Datacenter = true, new(int64); *f.Datacenter = 1 }, "is none of the layout", nil, 0},
		{"past the horizon", func(f *imports.Facts) {
			f.Layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 31}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 12}}
		}, "the floor would be tick", snowfence.ErrPastHorizon, 0},
		{"no layout", func(f *imports.Facts) { f.Layout = snowfence.Layout{} }, "layout", snowfence.ErrInvalidLayout, 0},
	}
	for _, test := range tests {
		f := facts(t)
		test.change(&f)
		_, err := imports.NewPlan(f)
		if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) || test.class != 0 && snowfence.ClassOf(err) != test.class {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestAllTakesEveryWorkerIDOfTheDatacenter(t *testing.T) {
	p, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	datacenter := int64(3)
	f := imports.Facts{Layout: p.Layout, All: true, Datacenter: &datacenter, StoppedAt: stop, Now: stop.Add(time.Minute)}
	f.Sightings = []imports.Sighting{{Worker: 3<<5 + 1, Where: "a"}, {Worker: 3<<5 + 1, Where: "b", Last: stop}, {Worker: 1024, Where: "c"}}
	r, err := imports.NewPlan(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != 32 || r.Steps[0].Worker != 96 || r.Steps[31].Worker != 127 {
		t.Errorf("shares %+v", r.Steps)
	}
	if got := r.Steps[1].Evidence; got != "a; b, last 2026-11-21T10:00:00Z" {
		t.Errorf("evidence %q", got)
	}
}
