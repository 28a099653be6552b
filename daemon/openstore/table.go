package openstore

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/memstore"
	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/redisstore"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/zkstore"
)

// engine is what the program knows of an engine.
type engine struct {
	schemes  []string      // of its URLs, in lower case
	like     string        // how its URLs begin, for messages
	keys     string        // of its URLs' queries; none of their values is a secret
	private  bool          // the store is of this process alone
	local    bool          // the store has no server
	loss     time.Duration // by which a store is lossy unless its URL says otherwise; 0 if it is durable
	clock    bool          // the engine has a clock of its own
	database bool          // its URLs can name a database of ids, too

	// parse reads a URL and opens nothing. Its error says what the URL must be.
	parse func(storeURL string) (parsed, error)
}

// parsed is a URL that was understood.
type parsed struct {
	engine engine
	name   string // of the store; empty if it shows only when the store is open
	// open opens the store, which has to exist if existing.
	open func(ctx context.Context, existing bool) (store.Store, error)
	// files returns an error unless each file that the URL names can be used.
	files func() error
	// schema returns what can be made by hand; see Schema.
	schema func() (string, error)
}

// engines is the table: all that the program knows of engines stands here.
func engines() []engine {
	const (
		server = "user password-file tls ca cert key loss "
		tables = server + "durable table whole-pages"
	)
	return []engine{
		{
			schemes: []string{"file"}, like: "file:DIRECTORY", local: true,
			parse: parser(filestore.ParseURL, func(ctx context.Context, c filestore.Config, existing bool) (*filestore.Store, error) {
				c.Existing = existing
				return filestore.Open(ctx, c)
			}, nil),
		},
		{
			schemes: []string{"mem"}, like: "mem://", private: true, local: true,
			parse: parser(memstore.ParseURL, makesNothing(memstore.Open), nil),
		},
		{
			schemes: []string{"etcd", "etcds"}, like: "etcd://", keys: server,
			parse: parser(etcdstore.ParseURL, makesNothing(etcdstore.Open), nil),
		},
		{
			schemes: []string{"zookeeper"}, like: "zookeeper://", keys: server + "acl session-timeout",
			parse: parser(zkstore.ParseURL, func(ctx context.Context, c zkstore.Config, existing bool) (*zkstore.Store, error) {
				c.Existing = existing
				return zkstore.Open(ctx, c)
			}, nil),
		},
		{
			schemes: []string{"redis", "rediss"}, like: "redis://, rediss://", clock: true, loss: redisstore.DefaultLoss,
			keys:  server + "prefix durable noeviction replicated sentinel sentinel-user sentinel-password-file",
			parse: parser(redisstore.ParseURL, makesNothing(redisstore.Open), nil),
		},
		{
			schemes: []string{"postgres", "postgresql"}, like: "postgres://", clock: true, database: true, keys: tables, loss: sqlstore.DefaultLoss,
			parse: parser(sqlstore.ParseURL, openSQL, ddl),
		},
		{
			schemes: []string{"mysql", "mariadb"}, like: "mysql://", clock: true, database: true, keys: tables, loss: sqlstore.DefaultLoss,
			parse: parser(sqlstore.ParseURL, openSQL, ddl),
		},
		{
			schemes: []string{"nats"}, like: "nats://", loss: natsstore.DefaultLoss,
			keys: server + "prefix replicas durable creds nkey token-file unsafe-ignore-loss",
			parse: parser(natsstore.ParseURL, func(ctx context.Context, c natsstore.Config, existing bool) (*natsstore.Store, error) {
				c.Existing = existing
				return natsstore.Open(ctx, c)
			}, natsstore.BucketJSON),
		},
	}
}

func ddl(c sqlstore.Config) (string, error) { return sqlstore.DDL(c.Dialect, c.Table) }

// parser makes a row's parse of an engine's functions. Schema is nil if there is none.
func parser[C any, S store.Store](parse func(string) (C, error), open func(context.Context, C, bool) (S, error), schema func(C) (string, error)) func(string) (parsed, error) {
	return func(storeURL string) (parsed, error) {
		c, err := parse(storeURL)
		if err != nil {
			return parsed{}, err
		}
		p := parsed{
			open: func(ctx context.Context, existing bool) (store.Store, error) {
				s, err := open(ctx, c, existing)
				if err != nil {
					return nil, err // not s: an interface of a nil pointer is not nil
				}
				return s, nil
			},
			files:  func() error { return nil },
			schema: func() (string, error) { return "", nil },
		}
		if named, ok := any(c).(interface{ Name() string }); ok {
			p.name = named.Name()
		}
		if checker, ok := any(c).(interface{ CheckFiles() error }); ok {
			p.files = checker.CheckFiles
		}
		if schema != nil {
			p.schema = func() (string, error) { return schema(c) }
		}
		return p, nil
	}
}

// makesNothing is the way to open an engine whose Open only reads: a prefix is
// there as soon as somebody writes to it.
func makesNothing[C any, S store.Store](open func(context.Context, C) (S, error)) func(context.Context, C, bool) (S, error) {
	return func(ctx context.Context, c C, _ bool) (S, error) { return open(ctx, c) }
}

// find returns the engine of a URL's scheme, or the zero engine and an error.
func find(storeURL string) (engine, error) {
	scheme, _, ok := strings.Cut(strings.ToLower(storeURL), ":")
	if !ok {
		return engine{}, errors.New("must begin with a scheme; supported are " + Supported())
	}
	for _, e := range engines() {
		if slices.Contains(e.schemes, scheme) {
			return e, nil
		}
	}
	return engine{}, errors.New("unknown scheme; supported are " + Supported())
}

// parse understands a URL, or returns a *URLError.
func parse(storeURL string) (parsed, error) {
	e, err := find(storeURL)
	if err != nil {
		return parsed{}, refuse(storeURL, err)
	}
	p, err := e.parse(storeURL)
	if err != nil {
		return parsed{}, refuse(storeURL, err)
	}
	p.engine = e
	return p, nil
}

// Supported lists how the URLs of stores begin, separated by commas.
func Supported() string {
	var like []string
	for _, e := range engines() {
		like = append(like, e.like)
	}
	return strings.Join(like, ", ")
}

// Private reports whether the store that the URL names is of this process alone.
func Private(storeURL string) bool {
	e, _ := find(storeURL)
	return e.private
}

// Local reports whether the store that the URL names has no server.
func Local(storeURL string) bool {
	e, _ := find(storeURL)
	return e.local
}

// Loss returns by how much the store is lossy that the URL names, as far as the URL tells: 0 for one that it
// calls durable, and for a wrong URL.
func Loss(storeURL string) time.Duration {
	e, err := find(storeURL)
	_, query, _ := strings.Cut(storeURL, "?")
	keys, wrong := url.ParseQuery(query)
	if err != nil || wrong != nil {
		return 0
	}
	for _, key := range []string{"durable", "unsafe-ignore-loss"} {
		if on, _ := strconv.ParseBool(keys.Get(key)); on {
			return 0
		}
	}
	if loss, err := time.ParseDuration(keys.Get("loss")); err == nil {
		return loss
	}
	return e.loss
}

// Name returns the first scheme of the engine that a URL names, such as postgres; empty if it
// names none.
func Name(storeURL string) string {
	e, err := find(storeURL)
	if err != nil {
		return ""
	}
	return e.schemes[0]
}

// DatabaseOf returns the name of the SQL database that a URL names, or the number of the Redis database;
// empty for another URL.
func DatabaseOf(storeURL string) string {
	if c, err := sqlstore.ParseURL(storeURL); err == nil {
		return c.Database
	}
	if c, err := redisstore.ParseURL(storeURL); err == nil {
		return strconv.Itoa(c.Database)
	}
	return ""
}

// IsDatabase reports whether a text is the URL of a database, which can hold ids
// or be a store. A path that looks like one can be given as ./mysql://…
func IsDatabase(text string) bool {
	e, _ := find(text)
	return e.database && strings.Contains(text, "://")
}

// IsStore reports whether a text is the URL of a store and of nothing else: no
// database, and no file whose name has a colon.
func IsStore(text string) bool {
	e, err := find(text)
	_, rest, _ := strings.Cut(text, ":")
	return err == nil && !e.database && (strings.HasPrefix(rest, "//") || slices.Contains(e.schemes, "file"))
}

// SentInClear returns the hosts that get the URL's password without TLS, as host:port, as far as the URL tells.
func SentInClear(storeURL string) []string {
	scheme, rest, _ := strings.Cut(storeURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	keys, err := url.ParseQuery(query)
	at := strings.LastIndexByte(rest, '@')
	if on, _ := strconv.ParseBool(keys.Get("tls")); err != nil || on || Local(storeURL) || slices.Contains([]string{"etcds", "rediss"}, strings.ToLower(scheme)) {
		return nil
	}
	if !strings.Contains(rest[:max(at, 0)], ":") && !keys.Has("password-file") {
		return nil
	}
	hosts, _, _ := strings.Cut(rest[at+1:], "/")
	return strings.Split(hosts, ",")
}
