// Package engine opens the store that a URL names.
//
//	file:/var/lib/snowfence/store        registers in a directory: one host, any number of processes
//	mem://                               registers in this process, forgotten when it ends
//	etcd://a:2379,b:2379/prefix          see package store/etcdstore
//	zookeeper://a:2181,b:2181/folder     see package store/zkstore
//	redis://host:6379/0, rediss://…      see package store/redisstore
//	postgres://user@host/database        see package store/sqlstore
//	mysql://user@host/database           see package store/sqlstore, for MariaDB as well
//	nats://host:4222/bucket              see package store/natsstore
//
// For mem:// there is mem: as well, which YAML takes for a key unless it is
// quoted.
//
// No error of this package shows a password that stands in a URL.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/memstore"
	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/redisstore"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/zkstore"
)

// schemes are what Open's switch knows, for messages.
const schemes = "file:DIRECTORY, mem://, etcd://, zookeeper://, redis://, rediss://, postgres://, mysql://, nats://"

// URLError is returned for a URL that names no store.
type URLError struct {
	// URL is what was given, redacted.
	URL string
	// Reason says what it must be.
	Reason string
}

func (e *URLError) Error() string { return fmt.Sprintf("store URL %q: %s", e.URL, e.Reason) }

// Class is [snowfence.ClassUsage].
func (*URLError) Class() snowfence.Class { return snowfence.ClassUsage }

// Check returns a *[URLError] unless Open would find an engine for the URL. It
// opens nothing.
func Check(storeURL string) error {
	_, err := find(storeURL)
	return err
}

// Private reports whether the store that the URL names is of this process alone.
func Private(storeURL string) bool {
	scheme, _, _ := strings.Cut(storeURL, ":")
	return strings.EqualFold(scheme, "mem")
}

// Open opens the store that the URL names, and makes what its engine needs if
// that is not there. It returns a *[URLError] when the URL names none, and else
// the engine's error.
func Open(ctx context.Context, storeURL string) (store.Store, error) {
	return open(ctx, storeURL, false)
}

// OpenExisting opens the store that the URL names and makes nothing: for all who
// read what others wrote, and are not to leave a store behind where a URL was
// mistyped. It returns an error that is [Missing] when nothing is there, and else
// what Open returns. etcd, Redis and memory have nothing to make: there it is
// Open.
func OpenExisting(ctx context.Context, storeURL string) (store.Store, error) {
	return open(ctx, storeURL, true)
}

// Missing reports whether an error means that a store which has to exist does not.
func Missing(err error) bool { return errors.Is(err, store.ErrNoStore) }

// open opens the store that the URL names, which has to exist if existing.
func open(ctx context.Context, storeURL string, existing bool) (store.Store, error) {
	open, err := find(storeURL)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, existing)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Redact(storeURL), err)
	}
	return s, nil
}

// find returns the way to open the store that the URL names.
func find(storeURL string) (opener, error) {
	refuse := func(reason string) error { return &URLError{Redact(storeURL), reason} }
	scheme, rest, ok := strings.Cut(storeURL, ":")
	if !ok {
		return nil, refuse("must begin with a scheme; supported are " + schemes)
	}
	var opener opener
	var err error
	switch strings.ToLower(scheme) {
	case "file":
		opener, err = file(rest)
	case "mem":
		opener, err = memory(rest)
	case "etcd", "etcds":
		opener, err = client(etcdstore.ParseURL, makesNothing(etcdstore.Open), storeURL)
	case "zookeeper":
		opener, err = client(zkstore.ParseURL, openZooKeeper, storeURL)
	case "redis", "rediss":
		opener, err = client(redisstore.ParseURL, makesNothing(redisstore.Open), storeURL)
	case "postgres", "postgresql":
		opener, err = client(sqlstore.ParseURL, openPostgres, storeURL)
	case "mysql", "mariadb":
		opener, err = client(sqlstore.ParseURL, openMySQL, storeURL)
	case "nats":
		opener, err = client(natsstore.ParseURL, openNATS, storeURL)
	default:
		return nil, refuse("unknown scheme; supported are " + schemes)
	}
	if err != nil {
		return nil, refuse(err.Error())
	}
	return opener, nil
}

// hasClock reports whether the engine that the URL names has a clock of its own.
func hasClock(storeURL string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(storeURL), ":")
	return slices.Contains([]string{"redis", "rediss", "postgres", "postgresql", "mysql", "mariadb"}, scheme)
}

// opener opens the store of a URL that was understood, which has to exist if
// existing.
type opener func(ctx context.Context, existing bool) (store.Store, error)

// client makes an opener of an engine's two functions.
func client[C any, S store.Store](parse func(string) (C, error), open func(context.Context, C, bool) (S, error), storeURL string) (opener, error) {
	config, err := parse(storeURL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, existing bool) (store.Store, error) {
		s, err := open(ctx, config, existing)
		if err != nil {
			return nil, err // not s: an interface of a nil pointer is not nil
		}
		return s, nil
	}, nil
}

// makesNothing is the way to open an engine whose Open only reads: a prefix is
// there as soon as somebody writes to it.
func makesNothing[C any, S store.Store](open func(context.Context, C) (S, error)) func(context.Context, C, bool) (S, error) {
	return func(ctx context.Context, config C, _ bool) (S, error) { return open(ctx, config) }
}

func openZooKeeper(ctx context.Context, config zkstore.Config, existing bool) (*zkstore.Store, error) {
	config.Existing = existing
	return zkstore.Open(ctx, config)
}

func openNATS(ctx context.Context, config natsstore.Config, existing bool) (*natsstore.Store, error) {
	config.Existing = existing
	return natsstore.Open(ctx, config)
}

func memory(rest string) (opener, error) {
	if rest != "" && rest != "//" {
		return nil, errors.New("nothing may stand after mem://")
	}
	return func(context.Context, bool) (store.Store, error) { return memstore.New().Client(), nil }, nil
}

func file(rest string) (opener, error) {
	directory, err := fileDirectory(rest)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, existing bool) (store.Store, error) {
		s, err := filestore.OpenWith(ctx, filestore.Config{Dir: directory, Existing: existing})
		if err != nil {
			return nil, err // not s: an interface of a nil pointer is not nil
		}
		return s, nil
	}, nil
}

// Warnings are what an operator must be told whenever the store is used.
func Warnings(s store.Store) []string {
	if w, ok := s.(interface{ Warnings() []string }); ok {
		return w.Warnings()
	}
	return nil
}

// LogTo gives the store the logger for what an operator must be told while it is
// used, if it has any such thing to say.
func LogTo(s store.Store, log *slog.Logger) {
	if l, ok := s.(interface{ LogTo(*slog.Logger) }); ok {
		l.LogTo(log)
	}
}

// fileDirectory returns the directory of what stands after "file:". Both
// file:relative/path and file:///absolute/path are understood, and taken as
// they are: a percent sign is a percent sign.
func fileDirectory(rest string) (string, error) {
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, _ := strings.Cut(authority, "/")
		if host != "" && host != "localhost" {
			return "", fmt.Errorf("must name no host: write file:/path")
		}
		rest = "/" + path
	}
	if strings.Trim(rest, "/") == "" {
		return "", fmt.Errorf("must name a directory: write file:/path")
	}
	return rest, nil
}
