package predecessor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// LeafPath is where Leaf keeps the nodes of one leaf.name.
func LeafPath(name string) string { return "/snowflake/" + name + "/forever" }

// RecyclablePath is where the recyclable pools of one leaf.name are.
func RecyclablePath(name string) string { return "/snowflake/" + name + "/recycle" }

// TwitterPath is where Twitter's servers show that they live.
const TwitterPath = "/snowflake-servers"

// Leaf reads the worker ids below a path as [LeafPath] names it.
func (z *ZooKeeper) Leaf(ctx context.Context, folder string) ([]takeover.Sighting, error) {
	nodes, touched, err := z.twice(ctx, folder)
	if err != nil {
		return nil, err
	}
	return z.uploads(nodes, touched, leafNode)
}

// Recyclable reads the worker ids of both pools below a path as [RecyclablePath]
// names it.
func (z *ZooKeeper) Recyclable(ctx context.Context, folder string) ([]takeover.Sighting, error) {
	nodes, touched, err := z.twice(ctx, path.Join(folder, "notuse"), path.Join(folder, "inuse"))
	if err != nil {
		return nil, err
	}
	return z.uploads(nodes, touched, recyclableNode)
}

// Twitter reads which servers of a datacenter live. Those that do not leave
// nothing behind, so it says nothing of which worker ids there were.
func (z *ZooKeeper) Twitter(ctx context.Context, folder string, layout snowfence.Layout, datacenter int64) ([]takeover.Sighting, error) {
	nodes, err := z.children(ctx, folder)
	if err != nil {
		return nil, err
	}
	var sightings []takeover.Sighting
	for _, n := range nodes {
		worker, ok := number(n.name)
		if !ok {
			return nil, &NodeError{n.path, "its name is no worker id"}
		}
		all, err := layout.WorkerNumber(datacenter, worker)
		if err != nil {
			return nil, &NodeError{n.path, fmt.Sprintf("worker id %d of datacenter %d is none of the layout %s", worker, datacenter, layout)}
		}
		s := takeover.Sighting{Worker: all, Where: n.path}
		if n.stat.EphemeralOwner != 0 {
			s.Alive = fmt.Sprintf("its node is there, of %q (after a crash it goes with its session)", n.data)
		}
		sightings = append(sightings, s)
	}
	return ordered(sightings), nil
}

// twice reads the nodes of some folders two times, and returns them as they were
// at last, and which of them changed, came or went. At least one of the folders
// must be there.
func (z *ZooKeeper) twice(ctx context.Context, folders ...string) (nodes map[string]node, touched map[string]bool, err error) {
	before, err := z.folders(ctx, folders)
	if err != nil {
		return nil, nil, err
	}
	expired, stop := z.config.Clock.After(z.config.Watch)
	defer stop()
	select {
	case <-expired:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if nodes, err = z.folders(ctx, folders); err != nil {
		return nil, nil, err
	}
	touched = map[string]bool{}
	for at, n := range nodes {
		// Numbers of a transaction differ also when a node was deleted and made
		// again.
		if was, ok := before[at]; !ok || was.stat.Mzxid != n.stat.Mzxid {
			touched[at] = true
		}
	}
	for at, n := range before {
		if _, ok := nodes[at]; !ok {
			touched[at], nodes[at] = true, n
		}
	}
	return nodes, touched, nil
}

func (z *ZooKeeper) folders(ctx context.Context, folders []string) (map[string]node, error) {
	all := map[string]node{}
	found := 0
	var missing error
	for _, folder := range folders {
		nodes, err := z.children(ctx, folder)
		var none *NoPathError
		switch {
		case errors.As(err, &none):
			missing = err
			continue
		case err != nil:
			return nil, err
		}
		found++
		maps.Copy(all, nodes)
	}
	if found == 0 {
		return nil, missing
	}
	return all, nil
}

// uploads reads what Leaf's nodes say.
func (z *ZooKeeper) uploads(nodes map[string]node, touched map[string]bool, workerOf func(name string) (int64, bool)) ([]takeover.Sighting, error) {
	now := z.config.Clock.Wall()
	var sightings []takeover.Sighting
	for _, n := range nodes {
		worker, ok := workerOf(n.name)
		if !ok {
			return nil, &NodeError{n.path, "its name holds no worker id"}
		}
		u, err := readUpload(n.data)
		if err != nil {
			return nil, &NodeError{n.path, err.Error()}
		}
		if u.WorkID != nil && *u.WorkID != worker {
			return nil, &NodeError{n.path, fmt.Sprintf("its data says worker id %d", *u.WorkID)}
		}
		s := takeover.Sighting{Worker: worker, Where: n.path, Last: u.last()}
		switch age := now.Sub(s.Last); {
		case touched[n.path]:
			s.Alive = fmt.Sprintf("its node changed within %s", z.config.Watch)
		case !s.Last.IsZero() && age >= 0 && age < z.config.Watch:
			s.Alive = fmt.Sprintf("its timestamp is %s old", age.Round(time.Millisecond))
		}
		sightings = append(sightings, s)
	}
	return ordered(sightings), nil
}

// ordered sorts by worker id, then by place.
func ordered(s []takeover.Sighting) []takeover.Sighting {
	slices.SortFunc(s, func(a, b takeover.Sighting) int {
		if a.Worker != b.Worker {
			return int(min(max(a.Worker-b.Worker, -1), 1))
		}
		return strings.Compare(a.Where, b.Where)
	})
	return s
}
