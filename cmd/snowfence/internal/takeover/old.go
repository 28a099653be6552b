package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// System is a kind of old system.
type System string

// The systems.
const (
	Leaf           System = "leaf"
	LeafRecyclable System = "leaf-recyclable"
	Twitter        System = "twitter"
	ShardingSphere System = "shardingsphere"
	List           System = "list" // any other
)

// Systems returns all systems.
func Systems() []System { return []System{Leaf, LeafRecyclable, Twitter, ShardingSphere, List} }

// Layout returns the layout of the system's ids; false if installations differ.
func (s System) Layout() (snowfence.Layout, bool) {
	name := map[System]string{Leaf: "leaf", LeafRecyclable: "leaf", Twitter: "twitter"}[s]
	preset, err := snowfence.PresetByName(name)
	return preset.Layout, err == nil
}

// inZooKeeper reports whether the system keeps its worker ids in ZooKeeper.
func (s System) inZooKeeper() bool { return s == Leaf || s == LeafRecyclable || s == Twitter }

// Old is what an operator says about an old system.
type Old struct {
	System System
	// Servers are its ZooKeeper's, as host:port; the port may be left out for 2181.
	Servers []string
	// Name is leaf.name. Path is the folder in ZooKeeper, if that is not the usual one.
	Name, Path string
	// Watch is the time between the two readings of ZooKeeper.
	Watch time.Duration
	// Workers are worker ids besides those in ZooKeeper. With a Datacenter they are
	// worker ids of that, without one they are worker numbers.
	Workers []int64
	// Facts are others. [Old.Look] fills in Layout, Sightings and Now.
	Facts
}

// Validate returns an error that names a flag that is missing, too much or out of range.
func (o Old) Validate() error {
	leaf := o.System == Leaf || o.System == LeafRecyclable
	switch {
	case o.StoppedAt.IsZero() && len(o.LastIDs) == 0:
		return errors.New("needs --stopped-at or --last-id: stop the old system first, all of it")
	case o.System.inZooKeeper() && len(o.Servers) == 0:
		return fmt.Errorf("%s needs --zookeeper; without one, use list", o.System)
	case !o.System.inZooKeeper() && (len(o.Servers) > 0 || o.Path != "" || o.Name != "" || o.Watch != DefaultWatch):
		return fmt.Errorf("%s reads no ZooKeeper", o.System)
	case leaf && (o.Name == "") == (o.Path == ""):
		return fmt.Errorf("%s needs either --name or --path", o.System)
	case o.System == Twitter && o.Name != "":
		return errors.New("twitter has no --name")
	case o.System == Twitter && o.Datacenter == nil:
		return errors.New("twitter needs --datacenter: its ZooKeeper knows the worker ids of one datacenter")
	case !o.System.inZooKeeper() && len(o.Workers) == 0 && !o.All:
		return fmt.Errorf("%s needs --workers", o.System)
	case strings.Contains(o.Name, "/"):
		return fmt.Errorf("--name %q: must have no slash", o.Name)
	case o.Margin < 0 || o.Margin > MaxMargin:
		return fmt.Errorf("--margin %s: must be from 0s to %s", o.Margin, MaxMargin)
	case o.Ahead < 0:
		return fmt.Errorf("--ahead %s: must not be negative", o.Ahead)
	case o.Watch <= 0:
		return fmt.Errorf("--watch %s: must be more than 0", o.Watch)
	}
	return nil
}

// Look returns the facts about the old system: those that its operator knows, and
// what its ZooKeeper shows. The layout is that of its ids.
//
// A *[FactError] is returned for a worker id or a datacenter that the layout does not
// have, a *[NodeError] or [ErrNoPath] if ZooKeeper holds something else than the
// system writes, and other errors if it can't be read.
func (o Old) Look(ctx context.Context, layout snowfence.Layout, clock snowfence.Clock) (Facts, error) {
	f := o.Facts
	f.Layout = layout
	if d := f.Datacenter; d != nil {
		if _, err := layout.WorkerNumber(*d, 0); err != nil {
			return f, outside("datacenter", *d, err, layout)
		}
	}
	for _, n := range o.Workers {
		number := n
		_, _, err := layout.SplitWorker(n)
		if f.Datacenter != nil {
			number, err = layout.WorkerNumber(*f.Datacenter, n)
		}
		if err != nil {
			return f, outside("worker", n, err, layout)
		}
		f.Sightings = append(f.Sightings, Sighting{Worker: number, Where: "--workers"})
	}
	if o.System.inZooKeeper() {
		found, err := o.read(ctx, clock, layout)
		if err != nil {
			return f, err
		}
		f.Sightings = append(f.Sightings, found...)
		// Twitter's servers leave no node behind, and recyclable pools may lose one.
		f.All = f.All || o.System != Leaf && len(o.Workers) == 0
	}
	f.Now = clock.Wall() // after the watch
	return f, nil
}

// outside is the error about a number that a layout does not have.
func outside(field string, n int64, err error, l snowfence.Layout) error {
	limit := text.Message(err)
	if beyond, ok := errors.AsType[*snowfence.RangeError](err); ok {
		limit = fmt.Sprintf("must be from 0 to %d", beyond.Limit)
	}
	return &FactError{field, fmt.Sprint(n), limit + " with the layout " + l.String(), err}
}

// read reads the system's ZooKeeper.
func (o Old) read(ctx context.Context, clock snowfence.Clock, layout snowfence.Layout) ([]Sighting, error) {
	z, err := zooKeeper{clock: clock, timeout: timeout, watch: o.Watch}.connect(ctx, o.Servers)
	if err != nil {
		return nil, err
	}
	defer z.close()
	switch o.System {
	case Leaf:
		return z.leaf(ctx, cmp.Or(o.Path, LeafPath(o.Name)))
	case LeafRecyclable:
		return z.recyclable(ctx, cmp.Or(o.Path, RecyclablePath(o.Name)))
	default:
		return z.twitter(ctx, cmp.Or(o.Path, TwitterPath), layout, *o.Datacenter)
	}
}
