package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
)

const (
	// DefaultTimeout is how long a connection may take.
	DefaultTimeout = 10 * time.Second

	// DefaultWatch is the time between the two readings: Leaf uploads every 3 s.
	DefaultWatch = 4 * time.Second

	// session is the length of the session that is asked for. Nothing depends on it.
	session = 10 * time.Second
)

// ZooKeeperConfig says where an old system's ZooKeeper is. Only Servers must be
// given.
type ZooKeeperConfig struct {
	// Servers are its addresses as host:port; the port may be left out for 2181.
	Servers []string
	// Timeout bounds connecting and reading. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Watch is the time between the two readings of persistent nodes. Zero means
	// [DefaultWatch].
	Watch time.Duration
	// Clock is where the time comes from. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock
}

// ZooKeeper is an old system's ZooKeeper, to be read from.
type ZooKeeper struct {
	config ZooKeeperConfig
	conn   *zk.Conn
}

// silent is a logger of nothing: what matters comes back as an error.
type silent struct{}

func (silent) Printf(string, ...any) {}

// OpenZooKeeper connects, and returns when a session is there or the timeout is over.
func OpenZooKeeper(ctx context.Context, c ZooKeeperConfig) (*ZooKeeper, error) {
	c.Timeout, c.Watch = cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.Watch, DefaultWatch)
	if c.Clock == nil {
		c.Clock = snowfence.SystemClock()
	}
	conn, events, err := zk.Connect(c.Servers, session, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	expired, stop := c.Clock.After(c.Timeout)
	defer stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return nil, errors.New("connect to ZooKeeper: the connection was closed")
			}
			if e.State == zk.StateHasSession {
				return &ZooKeeper{config: c, conn: conn}, nil
			}
		case <-expired:
			conn.Close()
			return nil, fmt.Errorf("connect to ZooKeeper at %v: no session within %s", c.Servers, c.Timeout)
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("connect to ZooKeeper: %w", context.Cause(ctx))
		}
	}
}

// Close ends the session.
func (z *ZooKeeper) Close() { z.conn.Close() }

// node is a node as it was read.
type node struct {
	path, name string
	data       []byte
	stat       zk.Stat
}

// NoPathError is returned when a folder of nodes is not there.
type NoPathError struct{ Path string }

func (e *NoPathError) Error() string {
	return fmt.Sprintf("snowfence: there is no node %s: is this the ZooKeeper of the old system, and the name its own?", e.Path)
}

// children reads all nodes below a path. A node that goes away meanwhile is left out.
// A *[NoPathError] is returned if the path is not there.
func (z *ZooKeeper) children(ctx context.Context, folder string) (map[string]node, error) {
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
		return nil, &NoPathError{folder}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", folder, err)
	}
	nodes := make(map[string]node, len(names))
	for _, name := range names {
		n, err := await(ctx, z, func() (node, error) {
			n := node{path: path.Join(folder, name), name: name}
			data, stat, err := z.conn.Get(n.path)
			if err == nil {
				n.data, n.stat = data, *stat
			}
			return n, err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", path.Join(folder, name), err)
		default:
			nodes[n.path] = n
		}
	}
	return nodes, nil
}

// await makes a request, which knows no context, and gives it up when ctx ends or the
// timeout is over. It closes the connection then, so that the request ends; nobody
// asks for anything after that.
func await[T any](ctx context.Context, z *ZooKeeper, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	expired, stop := z.config.Clock.After(z.config.Timeout)
	defer stop()
	var none T
	select {
	case a := <-answers:
		return a.value, a.err
	case <-expired:
		go z.conn.Close()
		return none, fmt.Errorf("ZooKeeper did not answer within %s", z.config.Timeout)
	case <-ctx.Done():
		go z.conn.Close()
		return none, context.Cause(ctx)
	}
}
