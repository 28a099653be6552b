package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	// openLimit bounds Open.
	openLimit = 10 * time.Second

	// page is how many registers List asks for at a time. With the longest keys and values they come to
	// about 1.2 MiB, half of the client's limit.
	page = 250

	maxAnswer  = 5 << 19  // bytes of one answer; the library's default is 2 GiB
	maxHeaders = 64 << 10 // bytes of its headers, and so of an error's text

	transaction  = "/etcdserverpb.KV/Txn"            // the method by which swaps are sent
	authenticate = "/etcdserverpb.Auth/Authenticate" // the method by which a user asks for a token

	separator = "\n"
	// beyond is the byte after the separator: stored values never lie between a
	// token with the separator and the token with this.
	beyond = "\x0b"
)

// Store is a client of one cluster. It is safe for concurrent use. It connects
// again by itself, and needs any one of its endpoints.
type Store struct {
	client *clientv3.Client
	// anonymous asks for the user's tokens; without a user it is the client.
	anonymous *clientv3.Client
	config    Config
	prefix    string // with its slash
	cluster   uint64 // the id of the cluster that the store was opened on
	life      *storeclient.Life
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open connects to the cluster that a config means, reads from it and judges its
// version; it writes nothing. An error is returned that names the field if the
// config is wrong, or that shows why no endpoint could be used, or why the
// cluster is not one to stand on. ctx bounds the attempt, and
// nothing after it; it takes 10 seconds at the most.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s := &Store{config: c, prefix: c.Prefix + "/", life: storeclient.Begin()}
	// With a user the library asks for a token first, under its own context.
	stop := context.AfterFunc(ctx, func() { _ = s.life.End(nil) })
	s.client, s.anonymous, err = s.connect()
	if !stop() {
		if err == nil {
			_ = s.release() // reports only that its context has ended
		}
		err = ended(ctx, err)
	}
	if err != nil {
		_ = s.life.End(nil)
		return nil, fmt.Errorf("etcdstore: connect to %s: %w", strings.Join(c.Endpoints, ","), err)
	}
	first, err := s.client.Get(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcdstore: read from %s: %w", strings.Join(c.Endpoints, ","), s.failure(ctx, err)), s.Close())
	}
	s.cluster = first.Header.GetClusterId()
	if err := s.judge(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// settings are the settings of a client that lasts as long as the store.
func (s *Store) settings() (clientv3.Config, error) {
	tls, err := s.config.TLS.Load()
	return clientv3.Config{
		Context:   s.life.Context(),
		Endpoints: s.config.Endpoints,
		TLS:       tls,
		Logger:    zap.NewNop(), // or it writes to standard error
		// Bounds the first token.
		DialTimeout:        openLimit / 2,
		MaxCallRecvMsgSize: maxAnswer,
		DialOptions: []grpc.DialOption{
			// Often enough to find a server within a second of its return.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 400 * time.Millisecond},
				// Long enough for a handshake with a server that is busy.
				MinConnectTimeout: 3 * time.Second,
			}),
			// And one that fell silent is found out: 10 seconds is the least that
			// the library allows.
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
			grpc.WithChainUnaryInterceptor(once),
			grpc.WithMaxHeaderListSize(maxHeaders),
		},
	}, err
}

// connect makes the client, and the one that asks for its tokens. They are two
// because a server before 3.5 judges the token that comes with a request for a
// new one: a client whose token has expired would never get another, and the
// library asks again and again, each request within the last.
func (s *Store) connect() (client, anonymous *clientv3.Client, err error) {
	c, err := s.settings()
	if err != nil {
		return nil, nil, err
	}
	password, err := storeurl.Password(s.config.Password, s.config.PasswordFile)
	if err != nil {
		return nil, nil, fmt.Errorf("password-file: %w", err)
	}
	anonymous, err = clientv3.New(c)
	if err != nil || s.config.User == "" {
		return anonymous, anonymous, err
	}
	c.Username, c.Password = s.config.User, string(password)
	c.DialOptions = append(slices.Clone(c.DialOptions), grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if method == authenticate {
				return anonymous.ActiveConnection().Invoke(ctx, method, request, reply, options...)
			}
			return invoke(ctx, method, request, reply, c, options...)
		}))
	if client, err = clientv3.New(c); err != nil {
		_ = anonymous.Close() // reports only that it was closed
	}
	return client, anonymous, err
}

// Get implements [store.Store]. It is always fresh: a read is confirmed by a
// majority, so that a member which was cut off from the others does not answer for long with its last
// state.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	response, err := s.read(ctx, "get", s.prefix+key)
	if err != nil {
		return store.Entry{}, err
	}
	if len(response.Kvs) == 0 {
		return store.Entry{}, store.ErrNotFound
	}
	return entry(key, response.Kvs[0].GetValue(), response.Kvs[0].GetLease())
}

// Swap implements [store.Store]. It is one transaction that compares the token.
// It is repeated only if it was sent to no server, or if a server refused it
// for its credentials before it looked at the register; see once.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(store.ValidateKey(key), store.ValidateValue(value), s.life.Usable(ctx)); err != nil {
		return "", err
	}
	ctx, cancel := s.life.Bound(ctx)
	defer cancel()
	if prev != "" && !storeclient.IsToken(string(prev)) {
		return "", store.ErrConflict // a register never had it
	}
	name := s.prefix + key
	guard := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(name), "=", 0)}
	if prev != "" {
		guard = []clientv3.Cmp{
			clientv3.Compare(clientv3.Value(name), ">", string(prev)),
			clientv3.Compare(clientv3.Value(name), "<", string(prev)+beyond),
		}
	}
	token, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return "", fmt.Errorf("etcdstore: %w", err)
	}
	response, err := s.client.Txn(ctx).If(guard...).Then(clientv3.OpPut(name, token.String()+separator+string(value))).Commit()
	if err != nil {
		return "", fmt.Errorf("etcdstore: swap: %w", s.failure(ctx, err))
	}
	if err := s.same(response.Header.GetClusterId()); err != nil {
		return "", fmt.Errorf("etcdstore: swap: %w", err) // no conflict: of this cluster's register it shows nothing
	}
	if !response.Succeeded {
		return "", store.ErrConflict
	}
	return store.Version(token.String()), nil
}

// List implements [store.Store]. It reads page by page in the order of the keys,
// each page as it is when its turn comes.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	end := clientv3.GetPrefixRangeEnd(s.prefix + prefix)
	return storeclient.ListPages(prefix, page, func(after string) ([]store.Entry, error) {
		from := s.prefix + prefix
		if after != "" {
			from = s.prefix + after + "\x00" // the least key that is greater
		}
		response, err := s.read(ctx, "list", from, clientv3.WithRange(end), clientv3.WithLimit(page))
		if err != nil {
			return nil, err
		}
		entries := make([]store.Entry, len(response.Kvs))
		for i, kv := range response.Kvs {
			if entries[i], err = entry(strings.TrimPrefix(string(kv.GetKey()), s.prefix), kv.GetValue(), kv.GetLease()); err != nil {
				return nil, err
			}
		}
		return entries, nil
	})
}

// read asks for a range of keys.
func (s *Store) read(ctx context.Context, verb, from string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if err := s.life.Usable(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := s.life.Bound(ctx)
	defer cancel()
	response, err := s.client.Get(ctx, from, options...)
	if err != nil {
		err = s.failure(ctx, err)
	} else {
		err = s.same(response.Header.GetClusterId())
	}
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %s: %w", verb, err)
	}
	return response, nil
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: "etcd", Durable: s.config.Loss == 0, Loss: s.config.Loss})
}

// Close implements [store.Store].
func (s *Store) Close() error { return s.life.End(s.release) }

func (s *Store) release() error {
	for _, client := range []*clientv3.Client{s.client, s.anonymous} {
		if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("etcdstore: close: %w", err)
		}
	}
	return nil
}

// Name implements [store.Named].
func (s *Store) Name() string { return s.config.Name() }

// String returns the store's config, without its password.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }

// GoString is String, so that %#v hides the password too.
func (s *Store) GoString() string { return s.String() }

// failure is the meaning of a library's error: the store was closed, the
// context ended, or the server's or the connection's own error. The library returns
// a context's end in words of its own.
func (s *Store) failure(ctx context.Context, err error) error {
	switch {
	case s.life.Ended():
		return store.ErrClosed
	case ctx.Err() != nil:
		return ended(ctx, err)
	}
	return err
}

// ended is the error of a context that has ended, with the last other error.
func ended(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s", ctx.Err(), status.Convert(err).Message())
}

// once keeps the client library from sending a transaction again. While the call's
// context lasts, that library takes the statuses Canceled and DeadlineExceeded for the
// end of one attempt, and repeats the request. But they leave the outcome open: a
// proposal that was not answered in time has the one, and a stream that a relay gave up
// has the other. As Unknown the library leaves them alone. It still repeats a request
// that reached no server, and one that was refused because its token or the rights of its
// user are out of date: a server checks both before it compares anything.
//
// When the context has ended the library puts its error in the place of these statuses,
// and so loses why there was no connection. As Unknown they keep it.
//
// And every call asks for a leader, so that a member which is cut off from the others
// refuses at once, and the next call goes to another endpoint.
func once(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(clientv3.WithRequireLeader(ctx), method, request, reply, c, options...)
	code, message := status.Code(err), status.Convert(err).Message()
	switch {
	case code != codes.Canceled && code != codes.DeadlineExceeded:
		return err
	case ctx.Err() == nil && method == transaction:
		return status.Errorf(codes.Unknown, "the server ended the transaction with %v: %s", code, message)
	case ctx.Err() != nil && message != ctx.Err().Error():
		return status.Error(codes.Unknown, message)
	}
	return err
}

// entry reads a stored value. A value in another form than this package writes is damaged, and so is a
// key that vanishes with its lease.
func entry(key string, stored []byte, lease int64) (store.Entry, error) {
	token, value, ok := strings.Cut(string(stored), separator)
	if !ok || lease != 0 || !storeclient.IsToken(token) || store.ValidateKey(key) != nil || store.ValidateValue([]byte(value)) != nil {
		return store.Entry{}, fmt.Errorf("etcdstore: key %.250q: %w", key, store.ErrDamaged)
	}
	return store.Entry{Key: key, Value: []byte(value), Version: store.Version(token)}, nil
}
