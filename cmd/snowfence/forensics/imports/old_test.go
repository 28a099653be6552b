package imports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
)

// list is an old system of two worker ids that were assigned by hand.
func list() imports.Old {
	return imports.Old{System: imports.List, Watch: imports.DefaultWatch, Workers: []int64{1, 3}, Facts: imports.Facts{StoppedAt: stop}}
}

func TestWhatASystemNeedsIsAskedFor(t *testing.T) {
	two := int64(2)
	for _, x := range []struct {
		change func(*imports.Old)
		want   string // empty: nothing is missing
	}{
		{func(*imports.Old) {}, ""},
		{func(o *imports.Old) { o.Workers, o.All = nil, true }, ""},
		{func(o *imports.Old) { o.StoppedAt = time.Time{} }, "needs --stopped-at or --last-id"},
		{func(o *imports.Old) { o.StoppedAt, o.LastIDs = time.Time{}, []snowfence.ID{1} }, ""},
		{func(o *imports.Old) { o.Workers = nil }, "list needs --workers"},
		{func(o *imports.Old) { o.Servers = []string{"zk"} }, "list reads no ZooKeeper"},
		{func(o *imports.Old) { o.Path = "/leaf" }, "list reads no ZooKeeper"},
		{func(o *imports.Old) { o.Watch = time.Second }, "list reads no ZooKeeper"},
		{func(o *imports.Old) { o.System = imports.Leaf }, "leaf needs --zookeeper"},
		{func(o *imports.Old) { o.System, o.Servers = imports.Leaf, []string{"zk"} }, "leaf needs either --name or --path"},
		{func(o *imports.Old) { o.System, o.Servers, o.Name = imports.Leaf, []string{"zk"}, "orders" }, ""},
		{func(o *imports.Old) { o.System, o.Servers, o.Name = imports.Leaf, []string{"zk"}, "a/b" }, "must have no slash"},
		{func(o *imports.Old) {
			o.System, o.Servers, o.Name, o.Path = imports.LeafRecyclable, []string{"zk"}, "a", "/b"
		}, "leaf-recyclable needs either --name or --path"},
		{func(o *imports.Old) { o.System, o.Servers = imports.Twitter, []string{"zk"} }, "twitter needs --datacenter"},
		{func(o *imports.Old) { o.System, o.Servers, o.Name = imports.Twitter, []string{"zk"}, "a" }, "twitter has no --name"},
		{func(o *imports.Old) { o.System, o.Servers, o.Datacenter = imports.Twitter, []string{"zk"}, &two }, ""},
		{func(o *imports.Old) { o.Margin = -1 }, "must be from 0s to 1h0m0s"},
		{func(o *imports.Old) { o.Margin = imports.MaxMargin + 1 }, "must be from 0s to 1h0m0s"},
		{func(o *imports.Old) { o.Ahead = -1 }, "must not be negative"},
		{func(o *imports.Old) { o.System, o.Servers, o.Name, o.Watch = imports.Leaf, []string{"zk"}, "a", 0 }, "must be more than 0"},
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
			if snowfence.ClassOf(err) != snowfence.ClassUsage {
				t.Errorf("%v: %T", x.workers, err)
			}
		}
		if !strings.Contains(got, x.want) || err == nil && (f.Now.IsZero() || !f.StoppedAt.Equal(stop) || !f.Layout.Equal(p.Layout)) {
			t.Errorf("%v of %v: %s, want %s", x.workers, x.datacenter, got, x.want)
		}
	}
}
