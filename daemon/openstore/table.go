package openstore

import (
	"context"
	"strconv"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/kubernetesstore"
	"snowfence.example/snowfence/store/memstore"
	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/redisstore"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/zkstore"
)

// parsed is a URL that was understood.
type parsed struct {
	engine engine.Engine
	name   string // of the store; empty if it shows only when the store is open
	// open opens the store, which has to exist if existing.
	open func(ctx context.Context, existing bool) (store.Store, error)
	// files returns an error unless each file that the URL names can be used.
	files func() error
	// schema returns the parts that can be made by hand; see Schema.
	schema func() (string, error)
}

// parserOf returns the parser of an engine's URLs, by the first of its schemes. The parser opens
// nothing, and its error describes a valid URL.
func parserOf(name string) func(storeURL string) (parsed, error) {
	switch name {
	case "file":
		return parser(filestore.ParseURL, func(ctx context.Context, c filestore.Config, existing bool) (*filestore.Store, error) {
			c.Existing = existing
			return filestore.Open(ctx, c)
		}, nil)
	case "mem":
		return parser(memstore.ParseURL, makesNothing(memstore.Open), nil)
	case "etcd":
		return parser(etcdstore.ParseURL, makesNothing(etcdstore.Open), nil)
	case "zookeeper":
		return parser(zkstore.ParseURL, func(ctx context.Context, c zkstore.Config, existing bool) (*zkstore.Store, error) {
			c.Existing = existing
			return zkstore.Open(ctx, c)
		}, nil)
	case "redis":
		return parser(redisstore.ParseURL, makesNothing(redisstore.Open), nil)
	case "nats":
		return parser(natsstore.ParseURL, func(ctx context.Context, c natsstore.Config, existing bool) (*natsstore.Store, error) {
			c.Existing = existing
			return natsstore.Open(ctx, c)
		}, natsstore.BucketJSON)
	case "kubernetes":
		return parser(kubernetesstore.ParseURL, makesNothing(kubernetesstore.Open), nil)
	case "postgres", "mysql":
		return parser(sqlstore.ParseURL, openSQL, ddl)
	}
	return func(string) (parsed, error) { return parsed{}, &noParserError{name} }
}

// noParserError is returned for an engine of package engine that parserOf lacks.
type noParserError struct{ engine string }

func (e *noParserError) Error() string {
	return "openstore: parserOf has no row for the engine " + e.engine + " of package engine"
}

func ddl(c sqlstore.Config) (string, error) { return sqlstore.DDL(c.Dialect, c.Table) }

// parser makes the parser of an engine's URLs from the engine's functions. Schema may be nil.
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

// parse understands a URL, or returns a *URLError.
func parse(storeURL string) (parsed, error) {
	e, err := engine.Of(storeURL)
	if err != nil {
		return parsed{}, err
	}
	p, err := parserOf(e.Schemes[0])(storeURL)
	if err != nil {
		return parsed{}, refuse(storeURL, err)
	}
	p.engine = e
	return p, nil
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
