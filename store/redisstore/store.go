package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// pageSize is how many registers List reads at a time: a megabyte at most.
const pageSize = 250

// Store is a client of the registers in a Redis server. It is safe for
// concurrent use.
type Store struct {
	config  Config
	clients []*redis.Client
	swap    *redis.Script
	turns   storeclient.Turns
	life    *storeclient.Life
}

//go:embed swap.lua
var swapScript string

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open opens the store that a config means. It connects, and judges the server;
// it writes nothing. It returns a *ServerError if the server is not one to
// stand on, and another error that names the field if the config is wrong or
// the server can't be reached. ctx bounds the attempt, and nothing after it.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, swap: redis.NewScript(swapScript), life: storeclient.Begin()}
	if s.clients, err = c.dial(); err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	if _, err := s.Now(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("redisstore: open: %w", err), s.Close())
	}
	return s, nil
}

// Get implements [store.Store]. It reads from the primary. A key that the index
// knows and that is gone is an error that is [store.ErrDamaged].
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	e, err := call(ctx, s, func(ctx context.Context, client *redis.Client) (store.Entry, error) {
		return s.get(ctx, client, key)
	})
	return e, describe("get", key, err)
}

// Swap implements [store.Store]. It is one script, which Redis runs as one step.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.life.Usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	token, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return "", fmt.Errorf("redisstore: %w", err)
	}
	// The copy is because the request may outlive this call.
	text := string(value)
	outcome, err := call(ctx, s, func(ctx context.Context, client *redis.Client) (string, error) {
		names := []string{s.config.registerName(key), s.config.indexName()}
		// A server that has forgotten the script answers NOSCRIPT and has not run it;
		// only then it is sent once more, with its text.
		return s.swap.Run(ctx, client, names, key, string(prev), token.String(), text).Text()
	})
	switch {
	case err != nil:
		return "", describe("swap", key, err)
	case outcome == "swapped":
		return store.Version(token.String()), nil
	case outcome == "conflict":
		return "", store.ErrConflict
	case outcome == "damaged":
		return "", damaged(key, "it is gone, or not a register that this version of the program knows")
	default:
		return "", fmt.Errorf("redisstore: swap %q: an unknown outcome, %.32q", key, outcome)
	}
}

// List implements [store.Store]. It yields the registers in the order of their
// keys and reads 250 of them at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.ListPages(prefix, pageSize, func(after string) ([]store.Entry, error) {
		from := "[" + prefix // "[" includes the bound and "(" does not
		if after != "" {
			from = "(" + after
		}
		page, err := call(ctx, s, func(ctx context.Context, client *redis.Client) ([]store.Entry, error) {
			return s.page(ctx, client, from, "("+prefix+"\xff") // no byte of a key is 0xff
		})
		return page, describe("list", prefix, err)
	})
}

// Traits implements [store.Store]: the config's assertions.
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: "redis", Durable: s.config.Durable, Loss: s.config.Loss})
}

// Now implements [store.Clock]: the primary's wall clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := call(ctx, s, func(ctx context.Context, client *redis.Client) (time.Time, error) {
		return client.Time(ctx).Result()
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("redisstore: read clock: %w", err)
	}
	return now, nil
}

// Do sends one command to the primary, and returns the reply as the client library does: for keys
// that are not the store's. It is sent once. When the outcome is unknown, the error is that of
// the connection or of ctx. It is safe for concurrent use.
func (s *Store) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := call(ctx, s, func(ctx context.Context, client *redis.Client) (any, error) {
		return client.Do(ctx, args...).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return reply, nil
}

// Warnings returns the sentences that an operator must read whenever the store is used: that its loss is the default.
func (s *Store) Warnings() []string {
	if !s.config.guessed {
		return nil
	}
	return []string{fmt.Sprintf("the loss of %v is the default: say loss= before you add a replica that min-replicas-to-write "+
		"does not ask for; else the store is refused, and ids end", s.config.Loss)}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	return s.life.End(func() error {
		var errs []error
		for _, client := range s.clients {
			errs = append(errs, client.Close())
		}
		return errors.Join(errs...)
	})
}

// Name implements [store.Named].
func (s *Store) Name() string { return s.config.Name() }

// String returns the store's config, without its passwords.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }

// GoString is String, so that %#v hides the password too.
func (s *Store) GoString() string { return s.String() }

// get reads one register. The index comes first: a register that it showed before must be there, since
// registers are never deleted. An empty text and a missing text are alike to GETRANGE, and a register
// is neither: a swap distinguishes them.
func (s *Store) get(ctx context.Context, client *redis.Client, key string) (store.Entry, error) {
	var indexed *redis.FloatCmd
	var stored *redis.StringCmd
	_, failure := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		indexed = p.ZScore(ctx, s.config.indexName(), key)
		stored = p.GetRange(ctx, s.config.registerName(key), 0, lastByte)
		return nil
	})
	text, err := stored.Result()
	switch {
	case failure != nil && indexed.Err() == nil && err == nil:
		// It is not one of theirs: the server refused the connection, and they
		// were not sent.
		return store.Entry{}, failure
	case err != nil:
		return store.Entry{}, err
	case text != "":
		return decode(key, text)
	case indexed.Err() == nil:
		return store.Entry{}, damaged(key, "it is gone")
	case !errors.Is(indexed.Err(), redis.Nil):
		return store.Entry{}, indexed.Err()
	}
	return store.Entry{}, store.ErrNotFound
}

// page reads the first registers between two bounds of the index.
func (s *Store) page(ctx context.Context, client *redis.Client, from, to string) ([]store.Entry, error) {
	keys, err := client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: s.config.indexName(), Start: from, Stop: to, ByLex: true, Count: pageSize,
	}).Result()
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	stored := make([]*redis.StringCmd, len(keys))
	_, failure := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			stored[i] = p.GetRange(ctx, s.config.registerName(key), 0, lastByte)
		}
		return nil
	})
	page := make([]store.Entry, len(keys))
	for i, key := range keys {
		text, err := stored[i].Result()
		switch {
		case err != nil:
			return nil, spoiled(key, err)
		case failure != nil:
			return nil, failure // of the connection: nothing was sent
		case text == "":
			return nil, damaged(key, "it is gone")
		}
		if page[i], err = decode(key, text); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// call makes a request at the endpoint whose turn it is, and returns as soon as it
// is answered, the context ends or the store is closed. The client library ends a
// request with its context's deadline, but does not see a context that is
// cancelled: then the request goes on without anyone to hear of it, for callLimit
// at most.
func call[T any](ctx context.Context, s *Store, request func(context.Context, *redis.Client) (T, error)) (value T, err error) {
	if err := s.life.Usable(ctx); err != nil {
		return value, err
	}
	value, err = storeclient.Call(ctx, s.life, func() (T, error) {
		limited, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		value, err := storeclient.InTurn(&s.turns, s.clients, func(client *redis.Client) (T, error) { return request(limited, client) }, outcome)
		if isTimeout(err) {
			// The connection's deadline is the context's, and may be noticed first.
			<-limited.Done()
		}
		return value, err
	})
	return value, discreet(err)
}

// outcome reports whether a server answered. The other two errors come from making a connection: nothing was sent.
func outcome(err error) storeclient.Outcome {
	var unfit *ServerError
	var away *unreached
	switch {
	case err == nil, refused(err), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDamaged):
		return storeclient.Answered
	case errors.As(err, &unfit), errors.As(err, &away):
		return storeclient.Unsent
	}
	return storeclient.Unknown
}

// discreet returns an error without the parts that a server repeats of an unknown command: the
// arguments of AUTH are the password.
func discreet(err error) error {
	if err != nil {
		if text, _, repeats := strings.Cut(err.Error(), ", with args beginning with"); repeats {
			return errors.New(text)
		}
	}
	return err
}

// isTimeout reports whether an error is that of a deadline.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// describe names the failed request. Errors of the contract that need no such
// word stay as they are.
func describe(verb, key string, err error) error {
	if err = spoiled(key, err); err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrClosed) {
		return err
	}
	return fmt.Errorf("redisstore: %s %q: %w", verb, key, err)
}

// spoiled returns the error of a command on a register: that of a damaged one where the server
// reports that its key holds something else.
func spoiled(key string, err error) error {
	if refused(err) && strings.Contains(err.Error(), "WRONGTYPE") {
		return damaged(key, "something else is in its place: "+err.Error())
	}
	return err
}
