package zkstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// openLimit is how long Open waits for a server if its context does not end
// before.
const openLimit = 15 * time.Second

// Store is a client of the registers below one node. It is safe for concurrent
// use.
type Store struct {
	config   Config
	session  *session
	warnings []string // judge's finding
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open connects to the ensemble, judges it, and creates the prefix if it does not
// exist and it may. It returns an error that names the field if the config is
// wrong, one that shows why the servers are not to be relied on, one that is
// [store.ErrNoStore] if there is no prefix and none may be created, and
// one that shows why if no server grants a session within 15 seconds, or the
// context's end. ctx bounds the attempt, and nothing after it.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.Password, err = storeurl.Password(c.Password, c.PasswordFile); err != nil {
		return nil, fmt.Errorf("zkstore: password-file: %w", err)
	}
	if len(c.User)+len(c.Password) > maxCredentials {
		return nil, fmt.Errorf("zkstore: password-file: must hold at most %d bytes", maxCredentials)
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("zkstore: open: %w", err)
	}
	session, err := connect(c)
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, session: session}
	for _, step := range []func(context.Context) error{session.authenticate(c.User, c.Password), s.judge, s.prepare} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("zkstore: open: %w", err), session.close())
		}
	}
	return s, nil
}

// Get implements [store.Store]. It costs two round trips to one server, and
// one to the leader: it asks the server to catch up first. It returns ErrDamaged
// if the prefix itself has gone as well.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(s.session.usable(ctx), store.ValidateKey(key)); err != nil {
		return store.Entry{}, err
	}
	v := &view{store: s}
	e, err := v.register(ctx, key)
	if !errors.Is(err, zk.ErrNoNode) {
		return e, wrap("get", key, err)
	}
	// A removed register differs from one that never was.
	there, err := look(ctx, v, func(c *zk.Conn) (bool, error) {
		there, _, err := c.Exists(s.config.Prefix)
		return there, err
	})
	switch {
	case err != nil:
		return store.Entry{}, wrap("get", key, err)
	case !there:
		return store.Entry{}, fmt.Errorf("%w: node %s has been removed", store.ErrDamaged, s.config.Prefix)
	}
	return store.Entry{}, store.ErrNotFound
}

// Swap implements [store.Store]. It is one request, but for the first register
// of a folder. It returns an error, and sends nothing, if the register has been
// swapped 2³¹−1 times.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.session.usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	var g guard
	if prev != "" {
		var ok bool
		if g, ok = parseGuard(prev, key); !ok {
			return "", store.ErrConflict // no register at this key has or had it
		}
		if err := g.next(); err != nil {
			return "", err
		}
	}
	token, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return "", fmt.Errorf("zkstore: %w", err)
	}
	next := guard{key: keySum(key), token: token.String()}
	if prev == "" {
		err = s.create(ctx, key, encode(next.token, value))
	} else {
		next.number, err = s.replace(ctx, key, g.number, encode(next.token, value))
	}
	if err != nil {
		return "", wrap("swap", key, err)
	}
	return next.version(), nil
}

// List implements [store.Store]. It reads folder by folder, in any order, a
// few registers at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		err := s.session.usable(ctx)
		if err == nil {
			err = (&view{store: s}).list(ctx, prefix, yield)
		}
		if err != nil {
			return fmt.Errorf("zkstore: list: %w", err)
		}
		return nil
	})
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.session.life.Traits(ctx, store.Traits{Engine: "zookeeper", Durable: s.config.Loss == 0, Loss: s.config.Loss})
}

// Warnings returns the sentences that the operator must read whenever the store is used, a
// sentence each; an empty list is usual.
func (s *Store) Warnings() []string { return slices.Clone(s.warnings) }

// Close implements [store.Store]. With a server that does not answer it takes a
// second.
func (s *Store) Close() error { return s.session.close() }

// Name implements [store.Named].
func (s *Store) Name() string { return s.config.Name() }

// String returns the store's config, without its password.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }

// GoString is String, so that %#v hides the password too.
func (s *Store) GoString() string { return s.String() }

// create makes a register's node, and its folder if there is none yet.
func (s *Store) create(ctx context.Context, key string, data []byte) error {
	folder := s.config.Prefix + "/" + folderName(key)
	err := s.make(ctx, folder+"/"+nodeName(key), data)
	if errors.Is(err, zk.ErrNoNode) {
		// So this create did not take effect, nor can it: the server decided it
		// once. The one below is a first one, not a repetition.
		if err = s.make(ctx, folder, []byte{}); err == nil || errors.Is(err, zk.ErrNodeExists) {
			err = s.make(ctx, folder+"/"+nodeName(key), data)
		}
	}
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return store.ErrConflict
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: node %s has been removed", store.ErrDamaged, s.config.Prefix)
	}
	return err
}

// make creates a persistent node: its creator's, or anyone's without a user. No one may delete what is below
// it without a change of its ACL first.
func (s *Store) make(ctx context.Context, path string, data []byte) error {
	const own = zk.PermRead | zk.PermWrite | zk.PermCreate | zk.PermAdmin
	acl := zk.WorldACL(own)
	if s.config.User != "" {
		acl = zk.AuthACL(own)
	}
	_, err := call(ctx, s.session, func(c *zk.Conn) (string, error) {
		return c.Create(path, data, zk.FlagPersistent, acl)
	})
	return err
}

// replace sets a register's node if its data version is the one given, and
// returns the new one.
func (s *Store) replace(ctx context.Context, key string, number int32, data []byte) (int32, error) {
	stat, err := call(ctx, s.session, func(c *zk.Conn) (*zk.Stat, error) {
		return c.Set(s.path(key), data, number)
	})
	switch {
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
		return 0, store.ErrConflict
	case err != nil:
		return 0, err
	}
	return stat.Version, nil
}

// path returns the path of a key's node.
func (s *Store) path(key string) string {
	return s.config.Prefix + "/" + folderName(key) + "/" + nodeName(key)
}

// prepare creates the prefix, and the nodes above it, if they do not exist and
// need not.
func (s *Store) prepare(ctx context.Context) error {
	v := &view{store: s}
	names := strings.Split(s.config.Prefix[1:], "/")
	for n := range names {
		path := "/" + strings.Join(names[:n+1], "/")
		// Not by creating each: that needs a right on the node above, which who
		// may use this one need not have.
		stat, err := look(ctx, v, func(c *zk.Conn) (*zk.Stat, error) {
			there, stat, err := c.Exists(path)
			if !there {
				stat = nil
			}
			return stat, err
		})
		if err != nil {
			return fmt.Errorf("look for node %s: %w", path, err)
		}
		if stat != nil {
			if stat.EphemeralOwner != 0 {
				return fmt.Errorf("node %s: must be a persistent one: this one can vanish", path)
			}
			continue
		}
		if s.config.Existing {
			return fmt.Errorf("node %s: %w", path, store.ErrNoStore)
		}
		for {
			err := s.make(ctx, path, []byte{})
			if err == nil || errors.Is(err, zk.ErrNodeExists) {
				break
			}
			// To make a node twice is harmless.
			if !isLoss(err) || s.session.usable(ctx) != nil {
				return fmt.Errorf("create node %s: %w", path, err)
			}
		}
	}
	return nil
}

// wrap names the failed request, unless the error is complete without it.
func wrap(verb, key string, err error) error {
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrClosed) {
		return err
	}
	return fmt.Errorf("zkstore: %s %q: %w", verb, key, err)
}
