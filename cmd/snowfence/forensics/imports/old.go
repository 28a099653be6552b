package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
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

// kind is a system that keeps its worker ids in ZooKeeper.
type kind struct {
	layout  string                                    // the preset of its ids
	path    func(name string) string                  // the usual one; name is leaf.name
	folders []string                                  // below the path, with a node for each worker id
	worker  func(node string) (worker int64, ok bool) // reads the name of a node
	uploads bool                                      // nodes persist, and their processes upload timestamps
}

// kinds are the systems with a ZooKeeper. Leaf uploads every 3 s. It moves a recyclable worker id by deleting
// and creating its node, so a crash can lose the node of a worker id that issued ids. A node of Twitter is
// there while its server lives.
func kinds() map[System]kind {
	return map[System]kind{
		Leaf:           {"leaf", LeafPath, []string{""}, leafNode, true},
		LeafRecyclable: {"leaf", RecyclablePath, []string{"notuse", "inuse"}, recyclableNode, true},
		Twitter:        {"twitter", func(string) string { return TwitterPath }, []string{""}, number, false},
	}
}

// LeafPath is where Leaf keeps the nodes of one leaf.name: IP:PORT-NNNNNNNNNN, where the number is the worker id.
func LeafPath(name string) string { return "/snowflake/" + name + "/forever" }

// RecyclablePath is where the recyclable pools of one leaf.name are: notuse/workId:N and inuse/workId:N.
func RecyclablePath(name string) string { return "/snowflake/" + name + "/recycle" }

// TwitterPath is where Twitter's servers show that they live: the name of a node is a worker id.
const TwitterPath = "/snowflake-servers"

// leafNode reads a worker id from the name of one of Leaf's nodes, IP:PORT-NNNNNNNNNN.
func leafNode(name string) (worker int64, ok bool) {
	// A host's address may have a hyphen; ZooKeeper's number has none, and ten digits or more.
	at := strings.LastIndexByte(name, '-')
	if at <= 0 || len(name)-at-1 < 10 {
		return 0, false
	}
	return number(name[at+1:])
}

// recyclableNode reads the name of a node of the recyclable pools, workId:N.
func recyclableNode(name string) (worker int64, ok bool) {
	digits, prefixed := strings.CutPrefix(name, "workId:")
	worker, ok = number(digits)
	return worker, ok && prefixed
}

// number reads decimal digits without a sign.
func number(digits string) (int64, bool) {
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), err == nil
}

// Layout returns the layout of the system's ids; false if installations differ.
func (s System) Layout() (snowfence.Layout, bool) {
	preset, err := snowfence.PresetByName(kinds()[s].layout)
	return preset.Layout, err == nil
}

// Old is an operator's description of an old system.
type Old struct {
	System     System
	Servers    []string      // its ZooKeeper's, as host:port; the port may be left out for 2181
	Name, Path string        // leaf.name; the path in ZooKeeper, if that is not the usual one
	Watch      time.Duration // between the two readings of ZooKeeper
	// Workers are more worker ids than ZooKeeper has. With a Datacenter they are
	// worker ids of that, without one they are worker numbers.
	Workers []int64
	// Facts are others. [Old.Look] fills in Layout, Sightings and Now.
	Facts
}

// Validate returns an error that names a flag that is missing, too much or out of range.
func (o Old) Validate() error {
	kind, inZooKeeper := kinds()[o.System]
	switch {
	case o.StoppedAt.IsZero() && len(o.LastIDs) == 0:
		return errors.New("needs --stopped-at or --last-id: stop the old system first, all of it")
	case inZooKeeper && len(o.Servers) == 0:
		return fmt.Errorf("%s needs --zookeeper; without one, use list", o.System)
	case !inZooKeeper && (len(o.Servers) > 0 || o.Path != "" || o.Name != "" || o.Watch != DefaultWatch):
		return fmt.Errorf("%s reads no ZooKeeper", o.System)
	case kind.uploads && (o.Name == "") == (o.Path == ""):
		return fmt.Errorf("%s needs either --name or --path", o.System)
	case o.System == Twitter && o.Name != "":
		return errors.New("twitter has no --name")
	case o.System == Twitter && o.Datacenter == nil:
		return errors.New("twitter needs --datacenter: its ZooKeeper knows the worker ids of one datacenter")
	case !inZooKeeper && len(o.Workers) == 0 && !o.All:
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

// Look returns the facts about the old system, from its operator and its ZooKeeper.
//
//	The layout is that of its ids.
//
// An error of class usage is returned for a worker id or a datacenter that the layout does
// not have, an error of class final if ZooKeeper holds something else than the system
// writes, and other errors if it can't be read.
func (o Old) Look(ctx context.Context, layout snowfence.Layout, clock snowfence.Clock) (Facts, error) {
	f := o.Facts
	f.Layout = layout
	if d := f.Datacenter; d != nil {
		if _, err := layout.WorkerNumber(*d, 0); err != nil {
			return f, outside("datacenter", *d, err, layout)
		}
	}
	for _, n := range o.Workers {
		worker := n
		_, _, err := layout.SplitWorker(n)
		if f.Datacenter != nil {
			worker, err = layout.WorkerNumber(*f.Datacenter, n)
		}
		if err != nil {
			return f, outside("worker", n, err, layout)
		}
		f.Sightings = append(f.Sightings, Sighting{Worker: worker, Where: "--workers"})
	}
	if kind, ok := kinds()[o.System]; ok {
		z, err := zooKeeper{clock: clock, timeout: timeout, watch: o.Watch}.connect(ctx, o.Servers)
		if err != nil {
			return f, err
		}
		defer z.close()
		place := func(worker int64) (int64, error) { return worker, nil }
		if o.System == Twitter {
			place = func(worker int64) (int64, error) { return layout.WorkerNumber(*f.Datacenter, worker) }
		}
		found, err := z.read(ctx, kind, cmp.Or(o.Path, kind.path(o.Name)), place)
		if err != nil {
			return f, err
		}
		f.Sightings = append(f.Sightings, found...)
		// The nodes of Twitter's servers go with them, and recyclable pools may lose a node.
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
	return wrong(field, fmt.Sprint(n), "%s with the layout %s", limit, l)
}
