// Package engine opens the store that a URL names.
//
//	file:/var/lib/snowfence/store   registers in a directory: one host, any number of processes
//	mem://                          registers in this process, forgotten when it ends
//
// For mem:// there is mem: as well, which YAML takes for a key unless it is
// quoted.
//
// No error of this package shows a password that stands in a URL.
package engine

import (
	"context"
	"fmt"
	"strings"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/memstore"
)

// schemes are what Open's switch knows, for messages.
const schemes = "file:DIRECTORY, mem://"

// URLError is returned for a URL that names no store.
type URLError struct {
	// URL is what was given, redacted.
	URL string
	// Reason says what it must be.
	Reason string
}

func (e *URLError) Error() string { return fmt.Sprintf("store URL %q: %s", e.URL, e.Reason) }

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

// Open opens the store that the URL names. It returns a *[URLError] when the
// URL names none, and else the engine's error.
func Open(ctx context.Context, storeURL string) (store.Store, error) {
	open, err := find(storeURL)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Redact(storeURL), err)
	}
	return s, nil
}

// find returns the way to open the store that the URL names.
func find(storeURL string) (func(context.Context) (store.Store, error), error) {
	refuse := func(reason string) error { return &URLError{Redact(storeURL), reason} }
	scheme, rest, ok := strings.Cut(storeURL, ":")
	if !ok {
		return nil, refuse("must begin with a scheme; supported are " + schemes)
	}
	switch strings.ToLower(scheme) {
	case "file":
		directory, err := fileDirectory(rest)
		if err != nil {
			return nil, refuse(err.Error())
		}
		return func(context.Context) (store.Store, error) { return filestore.Open(directory) }, nil
	case "mem":
		if rest != "" && rest != "//" {
			return nil, refuse("nothing may stand after mem://")
		}
		return func(context.Context) (store.Store, error) { return memstore.New().Client(), nil }, nil
	}
	return nil, refuse("unknown scheme; supported are " + schemes)
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

