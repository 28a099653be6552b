package takeover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// LeafPath is where Leaf keeps the nodes of one leaf.name.
func LeafPath(name string) string { return "/snowflake/" + name + "/forever" }

// RecyclablePath is where the recyclable pools of one leaf.name are.
func RecyclablePath(name string) string { return "/snowflake/" + name + "/recycle" }

// TwitterPath is where Twitter's servers show that they live.
const TwitterPath = "/snowflake-servers"

// NodeError is returned for a node that is not as its system writes it: nobody can
// tell which worker id it stands for.
type NodeError struct {
	Path   string
	Reason string
}

// Error names the node and what is wrong with it.
func (e *NodeError) Error() string {
	return fmt.Sprintf("snowfence: node %q: %s: remove what does not belong there. Or stop the old system and name its worker ids: workers import list --workers", e.Path, e.Reason)
}

// Class is [snowfence.ClassFinal].
func (e *NodeError) Class() snowfence.Class { return snowfence.ClassFinal }

// ErrNoPath is returned, with the path, when a folder of nodes is not there.
var ErrNoPath = snowfence.NewError(snowfence.ClassFinal, "snowfence: there is no such node")

// leaf reads the worker ids below a path as [LeafPath] names it.
func (z *zooKeeper) leaf(ctx context.Context, folder string) ([]Sighting, error) {
	return z.uploads(ctx, leafNode, folder)
}

// recyclable reads the worker ids of both pools below a [RecyclablePath].
func (z *zooKeeper) recyclable(ctx context.Context, folder string) ([]Sighting, error) {
	return z.uploads(ctx, recyclableNode, path.Join(folder, "notuse"), path.Join(folder, "inuse"))
}

// twitter reads which servers of a datacenter live. A server that has ended leaves
// nothing, so this does not tell which worker ids there were.
func (z *zooKeeper) twitter(ctx context.Context, folder string, layout snowfence.Layout, datacenter int64) ([]Sighting, error) {
	nodes, err := z.children(ctx, folder)
	if err != nil {
		return nil, err
	}
	var sightings []Sighting
	for _, n := range nodes {
		worker, ok := number(n.name)
		if !ok {
			return nil, &NodeError{n.path, "its name is no worker id"}
		}
		all, err := layout.WorkerNumber(datacenter, worker)
		if err != nil {
			return nil, &NodeError{n.path, fmt.Sprintf("worker id %d of datacenter %d is none of the layout %s", worker, datacenter, layout)}
		}
		s := Sighting{Worker: all, Where: n.path}
		if n.stat.EphemeralOwner != 0 {
			s.Alive = fmt.Sprintf("its node is there, of %q (after a crash it goes with its session)", n.data)
		}
		sightings = append(sightings, s)
	}
	return ordered(sightings), nil
}

// uploads reads persistent nodes twice, and what their processes upload.
func (z *zooKeeper) uploads(ctx context.Context, workerOf func(name string) (int64, bool), folders ...string) ([]Sighting, error) {
	nodes, touched, err := z.twice(ctx, folders)
	if err != nil {
		return nil, err
	}
	now := z.clock.Wall()
	var sightings []Sighting
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
		s := Sighting{Worker: worker, Where: n.path, Last: u.last()}
		switch age := now.Sub(s.Last); {
		case touched[n.path]:
			s.Alive = fmt.Sprintf("its node changed within %s", z.watch)
		case !s.Last.IsZero() && age >= 0 && age < z.watch:
			s.Alive = fmt.Sprintf("its timestamp is %s old", age.Round(time.Millisecond))
		}
		sightings = append(sightings, s)
	}
	return ordered(sightings), nil
}

// twice reads the nodes of some folders two times. It returns each as it was read
// last, and which of them changed, came or went.
func (z *zooKeeper) twice(ctx context.Context, folders []string) (nodes map[string]node, touched map[string]bool, err error) {
	before, err := z.folders(ctx, folders)
	if err != nil {
		return nil, nil, err
	}
	expired, stop := z.clock.After(z.watch)
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
		// A transaction's number changes also when a node is deleted and made again.
		was, ok := before[at]
		touched[at] = !ok || was.stat.Mzxid != n.stat.Mzxid
	}
	for at, n := range before {
		if _, ok := nodes[at]; !ok {
			touched[at], nodes[at] = true, n
		}
	}
	return nodes, touched, nil
}

// folders reads the nodes of some folders, of which at least one must be there.
func (z *zooKeeper) folders(ctx context.Context, folders []string) (map[string]node, error) {
	all := map[string]node{}
	var missing []error
	for _, folder := range folders {
		nodes, err := z.children(ctx, folder)
		if err != nil && !errors.Is(err, ErrNoPath) {
			return nil, err
		}
		if err != nil {
			missing = append(missing, err)
		}
		maps.Copy(all, nodes)
	}
	if len(missing) == len(folders) {
		return nil, missing[0]
	}
	return all, nil
}

// ordered sorts by worker id, then by place.
func ordered(s []Sighting) []Sighting {
	slices.SortFunc(s, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Where, b.Where))
	})
	return s
}

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

// upload is the data of Leaf's nodes, of both kinds.
type upload struct {
	Timestamp         *int64 `json:"timestamp"`
	WorkID            *int64 `json:"workId"`
	LastUsedTimestamp *int64 `json:"lastUsedTimestamp"`
}

// last is the later timestamp of an upload, zero if it has none: the recyclable
// pools begin with nodes that were never used.
func (u upload) last() time.Time {
	var last int64
	for _, ms := range []*int64{u.Timestamp, u.LastUsedTimestamp} {
		if ms != nil {
			last = max(last, *ms)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return time.UnixMilli(last).UTC()
}

// readUpload reads the data of a node.
func readUpload(data []byte) (upload, error) {
	var u upload
	if err := json.Unmarshal(data, &u); err != nil {
		return u, fmt.Errorf("its data is not the JSON that Leaf writes: %w", err)
	}
	return u, nil
}
