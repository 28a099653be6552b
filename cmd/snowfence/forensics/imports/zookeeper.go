package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
)

const (
	// DefaultWatch is the time between the two readings: Leaf uploads every 3 s.
	DefaultWatch = 4 * time.Second

	// timeout bounds connecting, and three times as much reading all nodes. session is the
	// length of the session; nothing depends on it.
	timeout = 10 * time.Second
	session = 10 * time.Second
)

// zooKeeper is an old system's ZooKeeper, to be read from.
type zooKeeper struct {
	conn    *zk.Conn
	clock   snowfence.Clock
	timeout time.Duration // of connecting; a reading has three times as much
	watch   time.Duration // between the two readings of persistent nodes
}

// silent is a logger of nothing: all that matters comes back as an error.
type silent struct{}

func (silent) Printf(string, ...any) {}

// connect returns when a session is there or the timeout is over.
func (z zooKeeper) connect(ctx context.Context, servers []string) (*zooKeeper, error) {
	ctx, stop := context.WithTimeoutCause(ctx, z.timeout, fmt.Errorf("no session within %s", z.timeout))
	defer stop()
	conn, events, err := zk.Connect(servers, session, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	z.conn = conn
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return &z, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("connect to ZooKeeper at %v: %w", servers, context.Cause(ctx))
		}
	}
}

// close ends the session.
func (z *zooKeeper) close() { z.conn.Close() }

// node is a node as it was read.
type node struct {
	path, name string
	data       []byte
	stat       zk.Stat
}

// nodeError is the error about a node in a form that its system does not write. Its worker
// id is unknown.
func nodeError(path, reason string, args ...any) error {
	return snowfence.NewError(snowfence.ClassFinal, fmt.Sprintf("snowfence: node %q: %s: remove what does not belong there. "+
		"Or stop the old system and name its worker ids: workers import list --workers", path, fmt.Sprintf(reason, args...)))
}

// ErrNoPath is returned, with the path, when a folder of nodes is not there.
var ErrNoPath = snowfence.NewError(snowfence.ClassFinal, "snowfence: there is no such node")

// read returns the worker ids below a path, in ascending order. Persistent nodes are read twice: one that
// changed in between has a live process, whatever the clocks show. place finds the worker number of a worker id.
func (z *zooKeeper) read(ctx context.Context, k kind, at string, place func(int64) (int64, error)) ([]Sighting, error) {
	nodes, err := z.nodes(ctx, at, k.folders)
	var touched map[string]bool
	if err == nil && k.uploads {
		touched, err = z.watchNodes(ctx, at, k.folders, nodes)
	}
	if err != nil {
		return nil, err
	}
	now := z.clock.Wall()
	var sightings []Sighting
	for _, n := range nodes {
		worker, ok := k.worker(n.name)
		if !ok {
			return nil, nodeError(n.path, "its name holds no worker id")
		}
		s := Sighting{Where: n.path}
		if s.Worker, err = place(worker); err != nil {
			return nil, nodeError(n.path, "worker id %d: %v", worker, err)
		}
		if n.stat.EphemeralOwner != 0 {
			s.Alive = fmt.Sprintf("its node is there, of %q (after a crash it goes with its session)", n.data)
		}
		if k.uploads {
			if s.Last, err = readUpload(n.data, worker); err != nil {
				return nil, nodeError(n.path, "%v", err)
			}
		}
		switch age := now.Sub(s.Last); {
		case touched[n.path]:
			s.Alive = fmt.Sprintf("its node changed within %s", z.watch)
		case !s.Last.IsZero() && age >= 0 && age < z.watch:
			s.Alive = fmt.Sprintf("its timestamp is %s old", age.Round(time.Millisecond))
		}
		sightings = append(sightings, s)
	}
	slices.SortFunc(sightings, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Where, b.Where))
	})
	return sightings, nil
}

// watchNodes waits, then reads the nodes again into the map. It returns the nodes that changed, are new or are gone.
func (z *zooKeeper) watchNodes(ctx context.Context, at string, folders []string, nodes map[string]node) (map[string]bool, error) {
	expired, stop := z.clock.After(z.watch)
	defer stop()
	select {
	case <-expired:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	again, err := z.nodes(ctx, at, folders)
	touched := map[string]bool{}
	for path, was := range nodes {
		// A transaction's number changes also when a node is deleted and made again.
		n, ok := again[path]
		touched[path] = !ok || was.stat.Mzxid != n.stat.Mzxid
	}
	for path, n := range again {
		if _, ok := nodes[path]; !ok {
			touched[path] = true
		}
		nodes[path] = n
	}
	return touched, err
}

// nodes lists the nodes below some folders of a path. It gives up when ctx ends or the
// timeout is over, by closing the connection: requests of the client take no context.
func (z *zooKeeper) nodes(ctx context.Context, at string, folders []string) (map[string]node, error) {
	limit := 3 * z.timeout
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("ZooKeeper did not answer within %s", limit))
	defer stop()
	defer context.AfterFunc(ctx, z.close)()
	nodes, err := z.list(at, folders)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("read %s: %w", at, context.Cause(ctx))
	}
	return nodes, err
}

// list reads all nodes below some folders of a path. At least one folder must be there. A
// node that goes away meanwhile is left out.
func (z *zooKeeper) list(at string, folders []string) (map[string]node, error) {
	nodes, missing := map[string]node{}, 0
	for _, folder := range folders {
		folder = path.Join(at, folder)
		// Without a sync a server may answer from the past.
		_, err := z.conn.Sync(folder)
		var names []string
		if err == nil {
			names, _, err = z.conn.Children(folder)
		}
		if errors.Is(err, zk.ErrNoNode) {
			missing++
			continue
		}
		for i := 0; i < len(names) && err == nil; i++ {
			full := path.Join(folder, names[i])
			data, stat, wrong := z.conn.Get(full)
			switch {
			case wrong == nil:
				nodes[full] = node{full, names[i], data, *stat}
			case !errors.Is(wrong, zk.ErrNoNode):
				err = wrong
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", folder, err)
		}
	}
	if missing == len(folders) {
		return nil, fmt.Errorf("%w: %s: is this the ZooKeeper of the old system, and the name its own?", ErrNoPath, path.Join(at, folders[0]))
	}
	return nodes, nil
}

// readUpload returns the later timestamp in the data of a worker id's node of Leaf, of both kinds. It
// is zero if it is missing: the recyclable pools begin with unused nodes.
func readUpload(data []byte, worker int64) (last time.Time, err error) {
	var u struct {
		WorkID                       *int64
		Timestamp, LastUsedTimestamp int64
	}
	switch err := json.Unmarshal(data, &u); {
	case err != nil:
		return last, fmt.Errorf("its data is not the JSON that Leaf writes: %w", err)
	case u.WorkID != nil && *u.WorkID != worker:
		return last, fmt.Errorf("its data names worker id %d", *u.WorkID)
	}
	if ms := max(u.Timestamp, u.LastUsedTimestamp); ms > 0 {
		last = time.UnixMilli(ms).UTC()
	}
	return last, nil
}
