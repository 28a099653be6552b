package takeover

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
)

const (
	// DefaultWatch is the time between the two readings: Leaf uploads every 3 s.
	DefaultWatch = 4 * time.Second

	// timeout bounds connecting and each request, and session is the length of the
	// session; nothing depends on that.
	timeout = 10 * time.Second
	session = 10 * time.Second
)

// zooKeeper is an old system's ZooKeeper, to be read from.
type zooKeeper struct {
	conn    *zk.Conn
	clock   snowfence.Clock
	timeout time.Duration // of a request
	watch   time.Duration // between the two readings of persistent nodes
}

// silent is a logger of nothing: what matters comes back as an error.
type silent struct{}

func (silent) Printf(string, ...any) {}

// connect returns when a session is there or the timeout is over.
func (z zooKeeper) connect(ctx context.Context, servers []string) (*zooKeeper, error) {
	conn, events, err := zk.Connect(servers, session, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	z.conn = conn
	expired, stop := z.clock.After(z.timeout)
	defer stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return nil, errors.New("connect to ZooKeeper: the connection was closed")
			}
			if e.State == zk.StateHasSession {
				return &z, nil
			}
		case <-expired:
			conn.Close()
			return nil, fmt.Errorf("connect to ZooKeeper at %v: no session within %s", servers, z.timeout)
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("connect to ZooKeeper: %w", context.Cause(ctx))
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

// children reads all nodes below a path. A node that goes away meanwhile is left out.
// [ErrNoPath] is returned if the path is not there.
func (z *zooKeeper) children(ctx context.Context, folder string) (map[string]node, error) {
	// Without a sync a server may answer from the past.
	if _, err := await(ctx, z, func() (string, error) { return z.conn.Sync(folder) }); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("read %s: %w", folder, err)
	}
	names, err := await(ctx, z, func() ([]string, error) {
		names, _, err := z.conn.Children(folder)
		return names, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, fmt.Errorf("%w: %s: is this the ZooKeeper of the old system, and the name its own?", ErrNoPath, folder)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", folder, err)
	}
	nodes := make(map[string]node, len(names))
	for _, name := range names {
		at := path.Join(folder, name)
		n, err := await(ctx, z, func() (node, error) {
			data, stat, err := z.conn.Get(at)
			if err != nil {
				return node{}, err
			}
			return node{at, name, data, *stat}, nil
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", at, err)
		default:
			nodes[at] = n
		}
	}
	return nodes, nil
}

// await makes a request, which knows no context, and gives it up when ctx ends or the
// timeout is over, by closing the connection: nobody asks for anything after that.
func await[T any](ctx context.Context, z *zooKeeper, request func() (T, error)) (value T, err error) {
	answered := make(chan struct{})
	var answer T
	var fault error
	go func() {
		answer, fault = request()
		close(answered)
	}()
	expired, stop := z.clock.After(z.timeout)
	defer stop()
	select {
	case <-answered:
		return answer, fault
	case <-expired:
		err = fmt.Errorf("ZooKeeper did not answer within %s", z.timeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	go z.close()
	return value, err
}
