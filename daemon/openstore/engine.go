// Package openstore opens the store that a URL names: it has the one list of the engines' parsers, of
// their functions that open stores, and of the schemas that operators can make by hand. Package engine
// has the part that needs no client library.
//
// For mem:// there is mem: as well, which YAML takes for a key unless it is quoted.
//
// Errors of this package hide the passwords of URLs.
package openstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/store"
)

// URLError is returned for a URL that does not name a store.
type URLError = engine.URLError

// refuse returns the *URLError for an error about a URL.
func refuse(storeURL string, err error) error {
	reason := err.Error()
	if _, after, ok := strings.Cut(reason, "store: URL: "); ok {
		reason = after // the engine need not be named
	}
	return &URLError{URL: engine.Redact(storeURL), Reason: reason}
}

// Check returns a *[URLError] unless Open would find an engine. It opens nothing.
func Check(storeURL string) error {
	_, err := parse(storeURL)
	return err
}

// CheckFiles returns a *[URLError] unless each file that the URL names, such as a
// certificate, can be used. It connects to nothing.
func CheckFiles(storeURL string) error {
	_, err := prepare(storeURL)
	return err
}

// prepare understands a URL and looks at the files that it names.
func prepare(storeURL string) (parsed, error) {
	p, err := parse(storeURL)
	if err != nil {
		return parsed{}, err
	}
	if err := p.files(); err != nil {
		return parsed{}, refuse(storeURL, err)
	}
	return p, nil
}

// Open opens the store that the URL names, and makes the parts that its engine needs. It returns
// a *[URLError] for a wrong URL or a file that can't be used, else the engine's error.
func Open(ctx context.Context, storeURL string) (store.Store, error) {
	return open(ctx, storeURL, false)
}

// OpenExisting opens the store that the URL names and makes nothing: for callers that read others'
// registers, so that a mistyped URL leaves nothing behind. It returns an error that is [Missing] when
// the store is missing, and else the result of Open. etcd, Redis and memory make nothing: there it is
// Open.
func OpenExisting(ctx context.Context, storeURL string) (store.Store, error) {
	return open(ctx, storeURL, true)
}

// OpenFor opens as Open does. If the store must exist, it opens as OpenExisting does, and returns an
// error that is [Missing], with advice, for a missing store.
func OpenFor(ctx context.Context, storeURL string, mustExist bool) (store.Store, error) {
	s, err := open(ctx, storeURL, mustExist)
	return s, gone(err, mustExist)
}

// gone adds to the error for a store that is missing and must exist.
func gone(err error, mustExist bool) error {
	if mustExist && Missing(err) {
		return fmt.Errorf("%w: the store must exist, and no new one is made: see docs/restoring.md", err)
	}
	return err
}

// Missing reports whether an error means that a store which has to exist does not.
func Missing(err error) bool { return errors.Is(err, store.ErrNoStore) }

func open(ctx context.Context, storeURL string, existing bool) (store.Store, error) {
	p, err := prepare(storeURL)
	if err != nil {
		return nil, err
	}
	s, err := p.open(ctx, existing)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", engine.Redact(storeURL), err)
	}
	return s, nil
}

// Schema returns the table or stream that an operator makes by hand in the store that the URL names,
// where the program may not make it: a statement in SQL, or a stream's configuration; empty where
// nothing is needed. It connects to nothing, and returns a *[URLError] for a wrong URL.
func Schema(storeURL string) (string, error) {
	p, err := parse(storeURL)
	if err != nil {
		return "", err
	}
	return p.schema()
}

// Warnings returns the sentences that an operator must read whenever the store is used.
func Warnings(s store.Store) []string {
	if w, ok := s.(interface{ Warnings() []string }); ok {
		return w.Warnings()
	}
	return nil
}
