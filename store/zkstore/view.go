package zkstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/store"
)

const (
	// abreast is how many nodes List reads at a time: enough that the round
	// trips hide each other, and less than the calls that a session carries.
	abreast = 16

	// attempts bounds how often a read is tried again after a lost connection.
	attempts = 4
)

// view is a number of reads; each shows all writes acknowledged before the first began.
//
// A server answers reads from its own state, and a follower may lag behind.
// Sync makes it catch up with the leader, and within a ZooKeeper session a
// client is never shown less than before, whichever server it is connected to.
// So one sync a session is enough; when the session is another one, the view
// syncs again and the read is repeated.
//
// This does not make reads linearizable. A leader that was replaced and has not noticed,
// for syncLimit ticks at most, takes itself for the last word, and the read is stale.
// Then the next swap conflicts, because the leader of a majority decides it. A server shows
// applied writes, which a majority has synced to its logs. So a read shows nothing that a loss of power
// can still take away.
type view struct {
	store  *Store
	synced atomic.Int64 // the session that was synced; zero if none was
}

// look is a read of the view. f makes one request.
func look[T any](ctx context.Context, v *view, f func(*zk.Conn) (T, error)) (T, error) {
	for n := 1; ; n++ {
		got, err := call(ctx, v.store.session, func(c *zk.Conn) (T, error) {
			id := c.SessionID()
			if v.synced.Load() != id {
				if _, err := c.Sync(v.store.config.Prefix); err != nil {
					var none T
					return none, fmt.Errorf("sync: %w", err)
				}
			}
			got, err := f(c)
			// A session that has ended does not come back: if it is this one
			// now, it was when f asked.
			if c.SessionID() != id {
				return got, errUnsteady
			}
			v.synced.Store(id)
			return got, err
		})
		again := errors.Is(err, errUnsteady) || isLoss(err)
		if !again || n == attempts || v.store.session.usable(ctx) != nil {
			return got, err
		}
	}
}

// errUnsteady is returned for a read during which the session was replaced.
var errUnsteady = errors.New("zkstore: the session was replaced during a read")

// register reads the register at key. It returns zk.ErrNoNode, wrapped or not,
// if there is none.
func (v *view) register(ctx context.Context, key string) (store.Entry, error) {
	type node struct {
		data []byte
		stat *zk.Stat
	}
	got, err := look(ctx, v, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(v.store.path(key))
		return node{data, stat}, err
	})
	if err != nil {
		return store.Entry{}, err
	}
	return decode(key, got.data, got.stat)
}

// children returns the names of the nodes below path.
func (v *view) children(ctx context.Context, path string) ([]string, error) {
	names, err := look(ctx, v, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("%w: node %s has been removed", store.ErrDamaged, path)
	}
	return names, err
}

// list yields the registers whose keys begin with prefix.
func (v *view) list(ctx context.Context, prefix string, yield func(store.Entry) bool) error {
	root := v.store.config.Prefix
	folders, err := v.children(ctx, root)
	if err != nil {
		return err
	}
	inFolder := func(folder string) ([]string, error) {
		if !isFolder(folder) {
			return nil, nil // somebody else's
		}
		names, err := v.children(ctx, root+"/"+folder)
		if err != nil {
			return nil, err
		}
		return keys(root, folder, names, prefix)
	}
	atKey := func(key string) (store.Entry, error) {
		e, err := v.register(ctx, key)
		if errors.Is(err, zk.ErrNoNode) {
			err = fmt.Errorf("%w: the node of register %q has been removed", store.ErrDamaged, key)
		}
		return e, err
	}
	for keys, err := range each(folders, inFolder) {
		if err != nil {
			return err
		}
		for e, err := range each(keys, atKey) {
			if err != nil || !yield(e) {
				return err
			}
		}
	}
	return nil
}

// keys returns the keys of a folder's nodes that begin with prefix. A node
// that is no register's is damage: no other program may put anything there.
func keys(root, folder string, names []string, prefix string) ([]string, error) {
	var found []string
	for _, name := range names {
		key, ok := keyOf(folder, name)
		if !ok {
			return nil, fmt.Errorf("%w: node %s/%s/%s is no register's", store.ErrDamaged, root, folder, name)
		}
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	return found, nil
}

// each yields f of every item in their order, and calls f for a few of them at
// a time.
func each[In, Out any](items []In, f func(In) (Out, error)) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		var results [abreast]Out
		var errs [abreast]error
		for len(items) > 0 {
			n := min(len(items), abreast)
			var running sync.WaitGroup
			for i, item := range items[:n] {
				running.Go(func() { results[i], errs[i] = f(item) })
			}
			running.Wait()
			for i := range n {
				if !yield(results[i], errs[i]) {
					return
				}
			}
			items = items[n:]
		}
	}
}
