package takeover_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// list is an old system of two worker ids that were assigned by hand.
func list() takeover.Old {
	return takeover.Old{System: takeover.List, Watch: takeover.DefaultWatch, Workers: []int64{1, 3}, Facts: takeover.Facts{StoppedAt: stop}}
}

func TestWhatASystemNeedsIsAskedFor(t *testing.T) {
	two := int64(2)
	for _, x := range []struct {
		change func(*takeover.Old)
		want   string // empty: nothing is missing
	}{
		{func(*takeover.Old) {}, ""},
		{func(o *takeover.Old) { o.Workers, o.All = nil, true }, ""},
		{func(o *takeover.Old) { o.StoppedAt = time.Time{} }, "needs --stopped-at or --last-id"},
		{func(o *takeover.Old) { o.StoppedAt, o.LastIDs = time.Time{}, []snowfence.ID{1} }, ""},
		{func(o *takeover.Old) { o.Workers = nil }, "list needs --workers"},
		{func(o *takeover.Old) { o.Servers = []string{"zk"} }, "list reads no ZooKeeper"},
		{func(o *takeover.Old) { o.Path = "/leaf" }, "list reads no ZooKeeper"},
		{func(o *takeover.Old) { o.Watch = time.Second }, "list reads no ZooKeeper"},
		{func(o *takeover.Old) { o.System = takeover.Leaf }, "leaf needs --zookeeper"},
		{func(o *takeover.Old) { o.System, o.Servers = takeover.Leaf, []string{"zk"} }, "leaf needs either --name or --path"},
		{func(o *takeover.Old) { o.System, o.Servers, o.Name = takeover.Leaf, []string{"zk"}, "orders" }, ""},
		{func(o *takeover.Old) { o.System, o.Servers, o.Name = takeover.Leaf, []string{"zk"}, "a/b" }, "must have no slash"},
		{func(o *takeover.Old) {
			o.System, o.Servers, o.Name, o.Path = takeover.LeafRecyclable, []string{"zk"}, "a", "/b"
		}, "leaf-recyclable needs either --name or --path"},
		{func(o *takeover.Old) { o.System, o.Servers = takeover.Twitter, []string{"zk"} }, "twitter needs --datacenter"},
		{func(o *takeover.Old) { o.System, o.Servers, o.Name = takeover.Twitter, []string{"zk"}, "a" }, "twitter has no --name"},
		{func(o *takeover.Old) { o.System, o.Servers, o.Datacenter = takeover.Twitter, []string{"zk"}, &two }, ""},
		{func(o *takeover.Old) { o.Margin = -1 }, "must be from 0s to 1h0m0s"},
		{func(o *takeover.Old) { o.Margin = takeover.MaxMargin + 1 }, "must be from 0s to 1h0m0s"},
		{func(o *takeover.Old) { o.Ahead = -1 }, "must not be negative"},
		{func(o *takeover.Old) { o.System, o.Servers, o.Name, o.Watch = takeover.Leaf, []string{"zk"}, "a", 0 }, "must be more than 0"},
	} {
		o := list()
		x.change(&o)
		if err := o.Validate(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", o, err, x.want)
		}
	}
}

func TestWorkerIDsAreThoseOfTheLayout(t *testing.T) {
	p, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	datacenter := func(n int64) *int64 { return &n }
	for _, x := range []struct {
		workers    []int64
		datacenter *int64
		want       string
	}{
		{[]int64{1, 3, 1023}, nil, "[1 3 1023]"},
		{[]int64{1, 31}, datacenter(3), "[97 127]"},
		{[]int64{1024}, nil, "worker is 1024: must be from 0 to 1023 with the layout"},
		{[]int64{32}, datacenter(3), "worker is 32: must be from 0 to 31 with the layout"},
		{[]int64{1}, datacenter(32), "datacenter is 32: must be from 0 to 31 with the layout"},
	} {
		o := list()
		o.Workers, o.Datacenter = x.workers, x.datacenter
		f, err := o.Look(t.Context(), p.Layout, snowfence.SystemClock())
		var numbers []int64
		for _, s := range f.Sightings {
			numbers = append(numbers, s.Worker)
		}
		got := fmt.Sprint(numbers)
		if err != nil {
			got = err.Error()
			if !errors.As(err, new(*takeover.FactError)) || snowfence.ClassOf(err) != snowfence.ClassUsage {
				t.Errorf("%v: %T", x.workers, err)
			}
		}
		if !strings.Contains(got, x.want) || err == nil && (f.Now.IsZero() || !f.StoppedAt.Equal(stop) || !f.Layout.Equal(p.Layout)) {
			t.Errorf("%v of %v: %s, want %s", x.workers, x.datacenter, got, x.want)
		}
	}
}

func TestLayoutsOfSystemsAreTheirPresets(t *testing.T) {
	known := map[takeover.System]string{takeover.Leaf: "leaf", takeover.LeafRecyclable: "leaf", takeover.Twitter: "twitter"}
	for _, s := range takeover.Systems() {
		l, ok := s.Layout()
		if name, want := known[s]; ok != want {
			t.Errorf("%s: %v", s, ok)
		} else if p, err := snowfence.PresetByName(name); want && (err != nil || !l.Equal(p.Layout)) {
			t.Errorf("%s has the layout %s", s, l)
		}
	}
}
